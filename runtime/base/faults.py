"""What can go wrong with a bundle, a load, a table: one function for each code, H07xx."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from errno import E2BIG, EACCES, EINVAL, EMFILE, ENFILE, ENOMEM, ENOTDIR, EPERM
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...lang.text.diagnostics import Diagnostic, Label, Refused, did_you_mean
from ...lang.text.ending import limit_reached
from ...lang.text.source import Span
from ..kernel.faults import too_old

if TYPE_CHECKING:
    from ..kernel.netlink import Link

#: What libxdp calls the program by which several share an interface.
DISPATCHER = "xdp_dispatcher"
MORE_MEMORY = "free some memory, or raise the memory limit of the control group"
#: A program that lets everything pass (examples/pass.bpf.c), which packages do not bring.
PASS_PROGRAM = (
    """echo '__attribute__((section("xdp"))) int pass(void *p) { return 2; }' | """
    "clang-16 -O2 -target bpf -xc - -c -o pass.o"
)
_NAMED = 8  # kernel objects that a message lists
REPORT = "please report this: what you did, and the bundle's directory"


def refused(*diagnostics: Diagnostic) -> Refused:
    return Refused(list(diagnostics))


def _at(span: Span | None, text: str = "") -> tuple[Label, ...]:
    return (Label(span, text),) if span is not None else ()


# ---- bundles --------------------------------------------------------------------------------


def no_bundle(path: Path, why: str) -> Diagnostic:
    return Diagnostic(
        "H0701", f"`{path}` is no bundle: {why}", (),
        "a bundle is the directory that `helioc compile FILE.hp -o DIRECTORY` writes",
    )  # fmt: skip


def bad_manifest(path: Path, why: str) -> Diagnostic:
    help_ = "compile the pipeline again with the helioc of this release"
    return Diagnostic("H0702", f"`{path}` cannot be used: {why}", (), help_)


def wrong_digest(path: Path) -> Diagnostic:
    return Diagnostic(
        "H0703", f"`{path}` is not the object that the manifest beside it describes", (),
        "the files of a bundle belong together: compile the pipeline again",
    )  # fmt: skip


def foreign_object(path: Path, why: str) -> Diagnostic:
    return Diagnostic("H0704", f"`{path}` does not fit its manifest: {why}", (),
                      "compile the pipeline again")  # fmt: skip


def damaged_object(operation: str, log: str) -> Diagnostic:
    said = log.rpartition("\n")[2].strip() or "it is no object file for the kernel"
    return Diagnostic("H0712", f"cannot {operation}: {said}", (),
                      "the file is damaged, though its digest is that of the manifest: compile the "
                      "pipeline again")  # fmt: skip


# ---- pipelines by name ----------------------------------------------------------------------


def already_loaded(name: str) -> Diagnostic:
    return Diagnostic("H0705", f"a pipeline `{name}` is loaded already", (),
                      f"`helioctl --name {name} unload` first, or load by another --name"
                      )  # fmt: skip


def not_loaded(name: str, have: Iterable[str]) -> Diagnostic:
    have = sorted(have)
    help_ = did_you_mean(name, have) or (
        f"loaded: {', '.join(have)}" if have else "load one: `helioctl load BUNDLE --config FILE`"
    )
    title = f"no pipeline `{name}` is loaded"
    if not name:
        title = (
            "no pipeline is loaded in this network namespace" if have else "no pipeline is loaded"
        )
    return Diagnostic("H0706", title, (), help_)


def bad_name(name: str) -> Diagnostic:
    help_ = "letters, digits, `-` and `_`, at most 64, the first a letter or a digit"
    return Diagnostic("H0707", f"`{name}` cannot be a pipeline's name", (), help_)


def several_loaded(have: Iterable[str]) -> Diagnostic:
    return Diagnostic("H0708", f"several pipelines are loaded: {', '.join(sorted(have))}", (),
                      "say which one: `helioctl --name NAME …`")  # fmt: skip


def busy(name: str, by: str) -> Diagnostic:
    who = f" (process {by})" if by else ""
    return Diagnostic("H0709", f"another program{who} is changing the pipeline `{name}`", (),
                      "one writer works at a time: try again when it has ended; if that is an "
                      "agent (`heliod`), leave out `--local`")  # fmt: skip


def damaged(name: str, why: str) -> Diagnostic:
    return Diagnostic("H0710", f"what is pinned of the pipeline `{name}` is damaged: {why}", (),
                      f"`helioctl --name {name} unload`, then load it again")  # fmt: skip


def loaded_again(name: str, damaged: Diagnostic) -> Diagnostic:
    """A warning: the journal had all rules, the counters were in maps that are gone."""
    return Diagnostic("H0713", f"`{name}` was loaded again by the journal: {damaged.title}", (),
                      "its rules are those that were acknowledged; its counters and states began "
                      "again", "warning")  # fmt: skip


def unsound(name: str, wrong: Sequence[str], bare: Collection[str] = ()) -> Diagnostic:
    """`bare`: ports that have no program."""
    more = f", and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
    title = (f"{len(wrong)} kernel objects of the pipeline `{name}` are not what was loaded: "
             f"{'; '.join(wrong[:_NAMED])}{more}")  # fmt: skip
    meanwhile = " while packets are forwarded"
    if bare:
        meanwhile = f"; until then packets of {', '.join(bare)} go to the kernel unprocessed"
    help_ = f"`helioctl --name {name} repair` puts them back{meanwhile}"
    return Diagnostic("H0714", title, (), help_)


def repaired(name: str, wrong: Sequence[str]) -> Diagnostic:
    """A warning."""
    more = f", and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
    return Diagnostic("H0715", f"kernel objects of `{name}` were put back: "
                      f"{'; '.join(wrong[:_NAMED])}{more}", (),
                      "something else than Helio removes or replaces files below /sys/fs/bpf/helio",
                      "warning")  # fmt: skip


def not_repairable(name: str, why: str, help_: str) -> Diagnostic:
    return Diagnostic("H0716", f"`{name}` cannot be repaired while it runs: {why}", (), help_)


def elsewhere(name: str) -> Diagnostic:
    return Diagnostic("H0711", f"the pipeline `{name}` was loaded in another network namespace", (),
                      "its interfaces are there: `nsenter --net=/run/netns/… helioctl …`"
                      )  # fmt: skip


# ---- the kernel -----------------------------------------------------------------------------


def no_privilege(what: str) -> Diagnostic:
    return Diagnostic("H0720", f"not allowed to {what}", (),
                      "run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON")  # fmt: skip


def no_place_for_pins(directory: str, user: int) -> Diagnostic:
    help_ = (f"as root: `chmod o+x {Path(directory).parent}; mkdir -p {directory}; chown {user} "
             f"{directory}`")  # fmt: skip
    return Diagnostic("H0720", f"user {user} may not write to `{directory}`", (), help_)


def no_card_privilege(capability: str) -> Diagnostic:
    return Diagnostic("H0720", f"not allowed to load onto a card: {capability} is missing", (),
                      "run as root; the agent keeps it with `heliod --cards`")  # fmt: skip


def no_bpffs(mend: str) -> Diagnostic:
    return Diagnostic("H0721", "no bpf file system is mounted at /sys/fs/bpf", (), mend)


def kernel_lacks(what: str, reason: str, mend: str = "") -> Diagnostic:
    needs = f"Helio needs Linux 5.10 or newer with BPF and XDP; this one is {os.uname().release}"
    return Diagnostic("H0722", f"the kernel does not {what}: {reason}", (), mend or needs)


def verifier(program: str, log: str) -> Diagnostic:
    """The kernel's verifier refused a program: a fault of the compiler, at a line of the user's."""
    place, said = verifier_place(log)
    where = f" at {place}" if place else ""
    return Diagnostic(
        "H0723", f"the kernel refuses the program `{program}`{where}: {said}", (),
        f"what passes `helioc check` should load, so this is a fault of helioc; {REPORT}",
    )  # fmt: skip


def verifier_place(log: str) -> tuple[str, str]:
    """(`linx.hp:64`, the verifier's last words) out of its log."""
    lines = [line for line in log.splitlines() if line.strip()]
    places = re.findall(r"@ ?([^\s@]+\.hp:\d+)", log)
    said = [x for x in lines if not re.match(r"processed \d+|max_states|; |\d+: \(|libbpf|-- ", x)]
    last = said[-1].strip() if said else "no reason given"
    return (places[-1] if places else ""), last


def another_program(
    interface: str, number: int, span: Span | None, holder: str = "", called: str = ""
) -> Diagnostic:
    """`number`, `called`: the program's id and name, where they are known."""
    if holder:
        return Diagnostic(
            "H0724", f"the pipeline `{holder}` is attached to `{interface}`",
            _at(span, "this interface is taken"),
            f"`helioctl --name {holder} unload` first: an interface has one pipeline at a time",
        )  # fmt: skip
    known = [f"`{called}`"] if called else []
    known += [f"id {number}"] if number else []
    about = f" ({', '.join(known)})" if known else ""
    help_ = (
        f"`ip link set dev {interface} xdp off` takes it away, unless its owner holds it by a link "
        "(`bpftool net`)"
    )
    if called == DISPATCHER:
        help_ = (
            f"it is libxdp's: `xdp-loader status {interface}` shows whose programs it runs, and "
            f"`xdp-loader unload {interface} --all` takes them away"
        )
    return Diagnostic(
        "H0724", f"another XDP program{about} is attached to `{interface}`",
        _at(span, "this interface is taken"), help_,
    )  # fmt: skip


def no_native(interface: str, span: Span | None, why: str) -> Diagnostic:
    return Diagnostic("H0725", f"no native XDP on `{interface}`: {why}",
                      _at(span, "its driver must support it"),
                      "`mode: generic` works on every interface, slower")  # fmt: skip


def no_redirect(
    interface: str, span: Span | None, kind: str, other: Link | None = None
) -> Diagnostic:
    """`other`: of a veth, its other end, where that is known."""
    help_ = "`mode: generic` does without"
    if kind == "veth":
        peer = other.name if other is not None else "PEER"
        first = "" if other is None or other.up else f"`ip link set {peer} up`, then "
        help_ = (
            f"a veth takes them while its other end, {peer}, polls: {first}`ethtool -K {peer} gro "
            f"off` and `ethtool -K {peer} gro on`{_within(other)} (the veth only sees GRO change "
            "while that is up); or `mode: generic`"
        )
    return Diagnostic("H0726", f"`{interface}` would lose the packets that are forwarded to it",
                      _at(span, "this interface takes no redirected frames"), help_)  # fmt: skip


def not_answering(interface: str, span: Span | None, other: Link) -> Diagnostic:
    return Diagnostic(
        "H0729",
        f"what the pipeline sends back by `{interface}` is lost, or waits for the next frame",
        (Label(span, f"its other end, {other.name}, has no XDP program"),) if span else (),
        "a veth delivers it to a native XDP program, which may pass everything: "
        f"`{PASS_PROGRAM}`, then `ip link set {other.name} xdpdrv object pass.o section xdp`"
        f"{_within(other)}; or `mode: generic`",
        "warning",
    )


def _within(other: Link | None) -> str:
    """Where the other end of a veth is."""
    return " in its network namespace" if other is not None and other.other_in is not None else ""


def not_attached(interface: str, span: Span | None, why: str, mend: str) -> Diagnostic:
    return Diagnostic("H0727", f"cannot attach to `{interface}`: {why}", _at(span), mend)


def of_kernel(error: Any, doing: str) -> Diagnostic:
    """A `BpfError` of loading or opening, in the user's terms."""
    if error.damaged:
        return damaged_object(error.operation, error.log)
    spoken = error.errno == EPERM and "insn" in error.log
    if error.program and (spoken or error.errno in (EACCES, EINVAL, E2BIG)):
        return too_old(error.program, error.log) or verifier(error.program, error.log)
    if error.errno in (EPERM, EACCES):
        return no_privilege(doing)
    if error.errno == ENOTDIR:
        return no_bpffs(error.mend)
    if error.errno in (EMFILE, ENFILE) and (limit := limit_reached(error.errno)):
        return limit
    if error.errno == ENOMEM:
        return Diagnostic("H0330", f"there is not enough memory to {doing}", (), MORE_MEMORY)
    return kernel_lacks(f"let us {doing}", f"{error.operation}: {error.reason}", error.mend)


def mebibytes(size: int) -> str:
    """A number of bytes as people read it."""
    return f"{size / (1 << 20):,.1f} MiB"


# ---- files ----------------------------------------------------------------------------------


def unwritable(path: str, why: str) -> Diagnostic:
    help_ = "check its directory and the permissions"
    return Diagnostic("H0740", f"cannot write `{path}`: {why}", (), help_)


def unreadable(path: str, why: str) -> Diagnostic:
    return Diagnostic(
        "H0740", f"cannot read `{path}`: {why}", (), "check the path and its permissions"
    )


def not_utf8(where: Span, byte: int) -> Diagnostic:
    name = where.source.name
    help_ = "save it as UTF-8"
    if name != "<stdin>":
        quoted = shlex.quote(name)
        help_ += f", or convert it: iconv -f LATIN1 -t UTF-8 {quoted} > {quoted}.utf8"
    return Diagnostic("H0740", f"`{name}` is not UTF-8 text",
                      (Label(where, f"the byte 0x{byte:02x} stands here"),), help_)  # fmt: skip


def too_large(path: str, most: int, piped: bool) -> Diagnostic:
    help_ = "split it: several requests, one after the other"
    if piped:
        help_ = "it is no regular file: put what it gives into one first"
    return Diagnostic("H0745", f"`{path}` is larger than {most} MiB", (), help_)


def unknown_file(path: str, help_: str) -> Diagnostic:
    return Diagnostic("H0741", f"what is in `{path}`?", (), help_)


def not_one_rule(words: str) -> Diagnostic:
    return Diagnostic("H0743", f"`{words}` is no one rule", (),
                      "say a kind, a kind and one id or name, or a name")  # fmt: skip


def no_such_kind(kind: str, have: Iterable[str]) -> Diagnostic:
    known = sorted(have)
    help_ = did_you_mean(kind, known) or f"the kinds are {', '.join(known)}"
    return unknown_kind(f"`{kind}` is no kind of rule", help_)


def unknown_kind(title: str, help_: str) -> Diagnostic:
    return Diagnostic("H0742", title, (), help_)


def not_routing(interface: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        "H0744",
        f"the kernel does not route by `{interface}`",
        (Label(span, "its forwarding is off"),) if span else (),
        f"sysctl -w net.ipv4.conf.{interface}.forwarding=1; until then only next hops that "
        "`load` and `refresh` find are known",
        "warning",
    )


def no_such_rule(words: str, have: Iterable[str]) -> Diagnostic:
    """`words`: `KIND`, `KIND ID`, `KIND NAME` or `NAME`. `have`: kinds and names that there are."""
    have = [name for name in have if name]
    first, _, which = words.partition(" ")
    kind = next((name for name in have if which and name.lower() == first.lower()), "")
    near = did_you_mean(which if kind else first, [name for name in have if name != kind])
    help_ = near or f"`{f'helioctl show {kind}'.rstrip()}` lists the rules"
    return Diagnostic("H0743", f"there is no rule `{words}`", (), help_)
