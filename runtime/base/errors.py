"""Errors of bundles, loads, tables and the kernel that several folders raise."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Sequence
from errno import E2BIG, EACCES, EINVAL, EMFILE, ENFILE, ENOMEM, ENOTDIR, EPERM
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...lang.text.diagnostics import Diagnostic, Refused, did_you_mean
from ...lang.text.exit_status import limit_reached
from ..kernel.old_kernels import too_old

if TYPE_CHECKING:
    pass

MORE_MEMORY = "free some memory, or raise the memory limit of the control group"
_NAMED = 8  # kernel objects that a message lists
REPORT = "please report this: what you did, and the bundle's directory"


def refused(*diagnostics: Diagnostic) -> Refused:
    return Refused(list(diagnostics))


# ---- bundles --------------------------------------------------------------------------------


def no_bundle(path: Path, why: str) -> Diagnostic:
    return Diagnostic(
        "H0701", f"`{path}` is no bundle: {why}", (),
        "a bundle is the directory that `helioc compile FILE.hp -o DIRECTORY` writes",
    )  # fmt: skip


def foreign_object(path: Path, why: str) -> Diagnostic:
    return Diagnostic("H0704", f"`{path}` does not fit its manifest: {why}", (),
                      "compile the pipeline again")  # fmt: skip


def damaged_object(operation: str, log: str) -> Diagnostic:
    message = log.rpartition("\n")[2].strip() or "it is no object file for the kernel"
    return Diagnostic("H0712", f"cannot {operation}: {message}", (),
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


def not_whole(have: Iterable[str]) -> Diagnostic:
    """Of what is not loaded, though there is something of it."""
    return Diagnostic(
        "H0706", "no pipeline is loaded in this network namespace", (),
        f"not whole: {', '.join(sorted(have))}, being loaded, or left by a load that was killed: "
        "`helioctl --name NAME unload` removes it",
    )  # fmt: skip


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
    until = " while packets are forwarded"
    if bare:
        until = f"; until then packets of {', '.join(bare)} go to the kernel unprocessed"
    help_ = f"`helioctl --name {name} repair` puts them back{until}"
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


def no_bpffs(fix: str) -> Diagnostic:
    return Diagnostic("H0721", "no bpf file system is mounted at /sys/fs/bpf", (), fix)


def kernel_lacks(what: str, reason: str, fix: str = "") -> Diagnostic:
    needs = f"Helio needs Linux 5.10 or newer with BPF and XDP; this one is {os.uname().release}"
    return Diagnostic("H0722", f"the kernel does not {what}: {reason}", (), fix or needs)


def verifier(program: str, log: str) -> Diagnostic:
    """The kernel's verifier refused a program: an error of the compiler, at a line of the
    user's."""
    place, message = verifier_place(log)
    where = f" at {place}" if place else ""
    return Diagnostic(
        "H0723", f"the kernel refuses the program `{program}`{where}: {message}", (),
        f"what passes `helioc check` should load, so this is a fault of helioc; {REPORT}",
    )  # fmt: skip


#: Of a verifier's log: instructions, sources, and what was counted at the end.
_NO_REASON = re.compile(
    r"processed \d+|max_states|verification time|stack depth|; |\d+: \(|libbpf|-- "
)


def verifier_place(log: str) -> tuple[str, str]:
    """(`linx.hp:64`, the verifier's last words) out of its log."""
    lines = [line for line in log.splitlines() if line.strip()]
    places = re.findall(r"@ ?([^\s@]+\.hp:\d+)", log)
    message = [line for line in lines if not _NO_REASON.match(line)]
    last = message[-1].strip() if message else "no reason given"
    return (places[-1] if places else ""), last


def of_kernel(error: Any, doing: str) -> Diagnostic:
    """A `BpfError` of loading or opening, in the user's terms."""
    if error.damaged:
        return damaged_object(error.operation, error.log)
    spoken = error.too_long or (error.errno == EPERM and "insn" in error.log)
    if error.program and (spoken or error.errno in (EACCES, EINVAL, E2BIG)):
        return too_old(error.program, error.log) or verifier(error.program, error.log)
    if error.errno in (EPERM, EACCES):
        return no_privilege(doing)
    if error.errno == ENOTDIR:
        return no_bpffs(error.fix)
    if error.errno in (EMFILE, ENFILE) and (limit := limit_reached(error.errno)):
        return limit
    if error.errno == ENOMEM:
        return Diagnostic("H0330", f"there is not enough memory to {doing}", (), MORE_MEMORY)
    return kernel_lacks(f"let us {doing}", f"{error.operation}: {error.reason}", error.fix)


def too_many_counters(pipeline: str, count: int) -> Diagnostic:
    return Diagnostic(
        "H0330", f"the rules of `{pipeline}` need {count:,} counters on this machine, of "
        f"{(1 << 32) - 1:,} that one map can have", (),
        "a rule has one for each CPU: declare fewer rules",
    )  # fmt: skip


def too_many_cpus(pipeline: str, count: int, most: int) -> Diagnostic:
    return Diagnostic(
        "H0330", f"`{pipeline}` adds up what the CPUs counted, of {most:,} CPUs at most, and this "
        f"machine may have {count:,}", (),
        "let no stage read the packets or bytes of a rule",
    )  # fmt: skip


def mebibytes(size: int) -> str:
    """A number of bytes as people read it."""
    return f"{size / (1 << 20):,.1f} MiB"


# ---- files ----------------------------------------------------------------------------------


def unreadable(path: str, why: str) -> Diagnostic:
    return Diagnostic(
        "H0740", f"cannot read `{path}`: {why}", (), "check the path and its permissions"
    )


def unknown_kind(title: str, help_: str) -> Diagnostic:
    return Diagnostic("H0742", title, (), help_)


def no_such_rule(words: str, have: Iterable[str]) -> Diagnostic:
    """`words`: `KIND`, `KIND ID`, `KIND NAME` or `NAME`. `have`: kinds and names that there are."""
    have = [name for name in have if name]
    first, _, which = words.partition(" ")
    kind = next((name for name in have if which and name.lower() == first.lower()), "")
    near = did_you_mean(which if kind else first, [name for name in have if name != kind])
    help_ = near or f"`{f'helioctl show {kind}'.rstrip()}` lists the rules"
    return Diagnostic("H0743", f"there is no rule `{words}`", (), help_)
