"""What no kernel takes is refused by `check`, in the pipeline's terms; what just fits is taken, by
the kernel too."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file, in_programs, lower_pipeline
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.runtime.kernel.program_stats import measure_object
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.testrun.private_run import PrivateRun

PIPELINE = """import std.ethernet, std.ip, std.ipv6
header wide {{ {wide}  next : u8 }}
pipeline large {{
  ports lan
  parser {{
    ethernet -> ipv4 when type = 0x0800
    ethernet -> ipv6 when type = 0x86dd
    ipv6     -> wide when next_header = 200
    wide     -> tcp  when next = 6
    ipv4     -> tcp  when protocol = 6
  }}
  ie value = 1, u16
  ie given = 2, u32
  ie rank  = 3, u32
  ie by    = 4, ip4
{declared}
  default pass
{stages}
  run parser -> {run}
}}
"""
SIX = [f"a{i}" for i in range(5)]


def text(declared: str, *stages: str) -> str:
    wide = "  ".join(f"a{i} : ip6" for i in range(6))
    whole = "\n".join(f"  stage s{i} {{ {body} }}" for i, body in enumerate(stages))
    run = " -> ".join(f"s{i}" for i in range(len(stages)))
    return PIPELINE.format(wide=wide, declared=declared, stages=whole, run=run)


def refused(path: Path, written: str) -> Diagnostic:
    file = path / "large.hp"
    file.write_text(written)
    with pytest.raises(Refused) as caught:
        check_file(file)
    first = caught.value.diagnostics[0]
    assert first.labels[0].text and first.help
    return first


def kinds(many: int, match: str) -> tuple[str, str]:
    """That many kinds of rules, and statements that look all up."""
    rules = "\n".join(
        f"  rule R{i} [16] {{ match {match} gives given counts packets }}" for i in range(many)
    )
    return rules, " ".join(f"find R{i} else {{ pass }} ipv4.id = {i}" for i in range(many))


def within(where: str, parts: Iterable[str]) -> str:
    return f"if {where} {{ {' '.join(parts)} }} send back"


def test_more_stages_than_tail_calls(tmp_path: Path) -> None:
    found = refused(tmp_path, text("", *["if ipv4 { ipv4.id = 1 }"] * 32, "send back"))
    assert (found.code, found.title) == ("H0335", "33 stages run one after the other")
    assert found.labels[0].span.text == "stage s32"


def loaded(path: Path, written: str) -> list[str]:
    """The stages of a pipeline that the kernel takes."""
    file = path / "large.hp"
    file.write_text(written)
    pipeline = check_file(file)
    measured = measure_object(compile_pipeline(pipeline).object)
    assert not measured.refused and all(p.verified for p in measured.programs.values())
    return [stage.name for stage in in_programs(pipeline, "staged").stages]


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("frame", ["{} send back", "if ipv4 {{ {} }} else {{ drop }} send back"])
def test_more_maps_than_a_program_may_have(tmp_path: Path, frame: str) -> None:
    """The stage is divided between two statements, also within an `if`."""
    rules, finds = kinds(10, "by lpm ipv4.src")
    body = frame.format(finds)
    body = body if "else" in frame else f"if not ipv4 {{ drop }} {body}"
    assert loaded(tmp_path, text(rules, body, "drop")) == ["s0", "s0_2", "s1"]


@pytest.mark.usefixtures("kernel")
def test_what_a_forward_does_is_the_same_on_both_sides_of_a_cut(tmp_path: Path) -> None:
    """The cut is where no packet has to be clamped yet, or all have."""
    rules, finds = kinds(10, "by lpm ipv4.src")
    body = f"if tcp {{ if ipv4 {{ {finds} }} clamp mss }} else {{ drop }} send back"
    assert loaded(tmp_path, text(rules, body)) == ["s0", "s0_2"]
    body = f"if tcp {{ clamp mss if ipv4 {{ {finds} }} }} else {{ drop }} send back"
    found = refused(tmp_path, text(rules, body))
    assert (found.code, found.title) == (
        "H0335", "a statement of stage `s0` asks too many tables for the kernel"
    )  # fmt: skip


def test_more_maps_than_a_program_may_have_in_one_statement(tmp_path: Path) -> None:
    rules, finds = kinds(10, "by lpm ipv4.src")
    body = f"if not ipv4 {{ drop }} find R0 else {{ {finds.replace('find R0 else { pass }', '')} }}"
    found = refused(tmp_path, text(rules, f"{body} send back"))
    assert found.code == "H0335" and found.labels[0].span.text == "find R0 else"
    assert found.title == "a statement of stage `s0` asks too many tables for the kernel"


def test_fused_the_stages_share_one_program(tmp_path: Path) -> None:
    rules, finds = kinds(12, "by lpm ipv4.src")
    half = finds.index("find R6")
    file = tmp_path / "large.hp"
    file.write_text(text(rules, f"if ipv4 {{ {finds[:half]} }}", within("ipv4", [finds[half:]])))
    pipeline = check_file(file)
    with pytest.raises(Refused) as caught:
        lower_pipeline(pipeline, "fused")
    assert caught.value.diagnostics[0].code == "H0335"
    assert caught.value.diagnostics[0].help.endswith("compile without `--fuse`")


@pytest.mark.usefixtures("kernel")
def test_a_stage_that_is_too_long(tmp_path: Path) -> None:
    changes = (f"ipv4.src = 10.0.{i >> 8}.{i & 255}" for i in range(700))
    written = text("", within("tcp { if ipv4", [*changes, "}"]))
    assert loaded(tmp_path, written) == ["s0", "s0_2"]


def test_a_statement_that_is_too_long(tmp_path: Path) -> None:
    changes = " ".join(f"ipv4.src = 10.0.{i >> 8}.{i & 255}" for i in range(900))
    rules, _ = kinds(1, "by lpm ipv4.src")
    body = f"if not tcp or not ipv4 {{ drop }} find R0 else {{ {changes} }} send back"
    found = refused(tmp_path, text(rules, body))
    assert found.code == "H0335" and found.labels[0].span.text == "find R0 else"
    assert found.title == "a statement of stage `s0` is too long for the kernel"


def test_only_the_traced_build_is_too_long(tmp_path: Path) -> None:
    """What `check` accepts is compiled, with a warning in place of the traced build."""
    changes = (f"ipv4.src = 10.0.{i >> 8}.{i & 255}" for i in range(600))
    file = tmp_path / "large.hp"
    file.write_text(text("", within("tcp { if ipv4", [*changes, "}"])))
    bundle = compile_pipeline(check_file(file), traced=True)
    assert bundle.traced is None
    (warning,) = bundle.warnings
    assert (warning.code, warning.severity) == ("H0335", "warning")
    assert "no traced build" in warning.title and "`--no-trace`" in warning.help


@pytest.mark.usefixtures("kernel")
def test_the_verifier_follows_a_look_up_once(tmp_path: Path) -> None:
    """Not once for each mask: ranges have the most of them, and these keys are the longest."""
    elements = "\n".join(f"  ie m{i} = {i + 10}, u64" for i in range(8))
    rules, finds = kinds(7, " ".join(f"m{i} range wide.w{i}" for i in range(8)))
    rules = rules.replace(" gives given", "")
    written = text(f"{elements}\n{rules}", within("wide", [finds.replace("ipv4.id = ", "count c")]))
    written = written.replace("a0 : ip6", "  ".join(f"w{i} : u64" for i in range(8)), 1)
    file = tmp_path / "large.hp"
    file.write_text(written)
    measured = measure_object(compile_pipeline(check_file(file)).object)
    assert not measured.refused
    assert all((p.verified or 0) < 150_000 for p in measured.programs.values())


@pytest.mark.parametrize(
    ("keys", "values", "says"),
    [(6, 1, "its key has 96 bytes; at most 88"), (1, 8, "its entry has 136 bytes; at most 128")],
)
def test_a_state_too_wide_for_the_stack(tmp_path: Path, keys: int, values: int, says: str) -> None:
    slots = (", ".join(f"{c}{i} : ip6" for i in range(n)) for c, n in (("k", keys), ("v", values)))
    declared = "  state S [16] {{ match {} gives {} }}".format(*slots)
    said = [f"k{i} = wide.a0" for i in range(keys)] + [f"v{i} = wide.a1" for i in range(values)]
    found = refused(tmp_path, text(declared, within("wide", [f"remember S({', '.join(said)})"])))
    assert (found.code, found.labels[0].text) == ("H0335", says)


def test_a_hash_over_too_much(tmp_path: Path) -> None:
    over = ", ".join([f"wide.a{i}" for i in range(6)] + ["ipv6.src", "ipv6.dst", "l4.src"])
    found = refused(
        tmp_path, text("", within("tcp { if wide", [f"tcp.window = hash({over}) & 1", "}"]))
    )
    assert (found.code, found.labels[0].text) == ("H0335", "130 bytes; at most 128")
    assert found.labels[0].span.text.startswith("tcp.window")


def test_what_just_fits_loads(tmp_path: Path, kernel: None) -> None:
    """The widest key, state and hash in one program."""
    over = ", ".join([f"wide.a{i}" for i in range(6)] + ["ipv6.src", "ipv6.dst"])
    match = " ".join(f"m{i} ternary wide.a{i}" for i in range(5))
    declared = "\n".join(f"  ie m{i} = {i + 10}, ip6" for i in range(5))
    declared += f"\n  rule R [16] {{ match {match} gives given priority rank "
    declared += "counts packets, bytes, sizes }"
    keys = ", ".join(f"k{i} : ip6" for i in range(5))
    values = ", ".join(f"v{i} : ip6" for i in range(7))
    declared += f"\n  state S [16] {{ match {keys}, low : u64 gives {values} }}"
    by = ", ".join(f"k{i} = wide.a{i}" for i in range(5))
    kept = ", ".join(f"v{i} = wide.a{i % 5}" for i in range(7))
    statements = [
        f"tcp.window = hash({over}) & 0xffff",
        "find R else { pass }",
        f"remember S({by}, low = hash({over}), {kept})",
        f"recall S({by}, low = R.given) else {{ drop }}",
        "if S.v3 = wide.a5 { drop }",
    ]
    file = tmp_path / "large.hp"
    file.write_text(text(declared, within("tcp { if wide", [*statements, "}"])))
    bundle = compile_pipeline(check_file(file), "fused")
    PrivateRun(Bundle(bundle.manifest, bundle.object)).close()


def test_a_stage_with_many_changes_of_states_is_divided(tmp_path: Path, kernel: None) -> None:
    """What is done to a state stands in place of each call. Also with what a trace adds."""
    declared = "  state S [4k] { match a : ip4, b : u8 gives n : u64, small : u8  ages 30 idle }"
    statements = "\n".join(
        f"remember S(a = ipv4.src, b = {i}, n = 0, small = 0) else {{ count k{i} }}\n"
        f"S.n += ipv4.ttl\nexchange S.small from {i} to {i + 1} else {{ count f{i} }}"
        for i in range(50)
    )
    file = tmp_path / "large.hp"
    file.write_text(text(declared, f"if not ipv4 {{ drop }}\n{statements}\ndrop"))
    built = compile_pipeline(check_file(file), traced=True)
    assert len(built.manifest.programs) == 2
    for traced in (False, True):
        PrivateRun(Bundle(built.manifest, built.object, built.traced), traced).close()


def test_thirty_two_stages_are_all_run(tmp_path: Path) -> None:
    file = tmp_path / "large.hp"
    file.write_text(text("", *["if ipv4 { ipv4.id = 1 }"] * 31, "send back"))
    check_file(file)


def test_look_ups_that_all_go_on(tmp_path: Path, kernel: None) -> None:
    """What was found is known in the program that reads it, which is one for all forty."""
    rules, _ = kinds(40, "by lpm ipv4.src")
    finds = [f"find R{i} else {{ }}" for i in range(40)]
    finds += [f"if R{i} {{ queue R{i}.given & 7 }}" for i in range(40)]
    stages = loaded(tmp_path, text(rules, within("ipv4", finds)))
    assert stages == ["s0", *(f"s0_{i}" for i in range(2, 9))]


LIMITED = (
    "min({x} +| {k}, {y} -| {k})",
    "max({x} +| {k}, {y} -| {k}, {z} ^ {k})",
    "max({x}, {y}) -| min({z}, {k})",
)


@pytest.mark.parametrize("written", LIMITED)
def test_what_stops_at_a_limit_is_no_branch(written: str, tmp_path: Path, kernel: None) -> None:
    """What the verifier learned of a value by one comparison would decide the next: 32 of them were
    more ways than it follows."""
    read = ("own.a", "own.b", "own.c", "own.d")
    assigned = "\n".join(
        f"    own.o{i} = "
        + written.format(x=read[i % 4], y=read[(i + 1) % 4], z=read[(i + 2) % 4], k=i + 1)
        for i in range(32)
    )
    fields = "\n".join(f"  o{i} : u64" for i in range(32))
    file = tmp_path / "limited.hp"
    file.write_text(f"""import std.ethernet
header own {{ a : u8  b : u16  c : u32  d : u64
{fields} }}
pipeline limited {{
  ports lan
  parser {{ ethernet -> own when type = 0x88b5 }}
  stage main {{
    if not own {{ drop }}
{assigned}
    pass
  }}
  run parser -> main
}}
""")
    measured = measure_object(compile_pipeline(check_file(file)).object)
    assert not measured.refused
    assert all(0 < (p.verified or 0) < 10_000 for p in measured.programs.values())
