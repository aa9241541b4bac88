"""What can be wrong with an intent: one function for each code, H082x and H083x."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...lang.text.diagnostics import Diagnostic, Label, did_you_mean
from ...lang.text.source import Span
from ..edge.faults import missing_key

__all__ = ["missing_key"]


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


# ---- as it is written -----------------------------------------------------------------------


def no_flow(where: Span) -> Diagnostic:
    help_ = "`resources: [ethernet, ipv4: {dst: 192.0.2.1}]`; of several flows a list of such lists"
    return Diagnostic("H0820", "the headers of a flow are expected here",
                      (Label(where, "not a list of headers"),), help_)  # fmt: skip


def no_layer(where: Span) -> Diagnostic:
    return Diagnostic("H0820", "one header is expected here", (Label(where, "not one header"),),
                      "`udp`, or `udp: {dst: 53}`, each an item of the list")  # fmt: skip


def too_long(where: Span, what: str, most: int) -> Diagnostic:
    return Diagnostic("H0820", f"there are more than {most} {what}", (Label(where, "too many"),),
                      "make several intents of it")  # fmt: skip


def bad_id(where: Span, text: str) -> Diagnostic:
    return Diagnostic("H0821", f"`{text[:80]}` cannot be a `resourceId`", (Label(where, ""),),
                      "1 to 63 letters, digits and . _ : / -, a letter or digit first"
                      )  # fmt: skip


def bad_start(where: Span, text: str) -> Diagnostic:
    return Diagnostic("H0822", f"`{text[:80]}` is no moment", (Label(where, "no moment"),),
                      "2027-01-31T12:00:00Z (RFC 3339, with its zone), now, or +30s"
                      )  # fmt: skip


def bad_duration(where: Span, text: str) -> Diagnostic:
    return Diagnostic("H0822", f"`{text[:80]}` is no duration", (Label(where, "no duration"),),
                      "90s, 1.5h, 7d; left out, the intent stays until it is removed"
                      )  # fmt: skip


def over(where: Span) -> Diagnostic:
    return Diagnostic("H0823", "this intent is over already", (Label(where, "ended before now"),),
                      "a later `start`, or a longer `duration`")  # fmt: skip


# ---- headers --------------------------------------------------------------------------------


def not_next(where: Span, name: str, after: str, next_: Sequence[str]) -> Diagnostic:
    behind = f"behind `{after}`" if after else "first"
    help_ = f"{behind} may come {_listed(next_)}" if next_ else "nothing is known behind it"
    title = f"`{name}` is not what comes {behind}"
    return Diagnostic("H0824", title, (Label(where, "not there"),),
                      did_you_mean(name, next_) or help_)  # fmt: skip


def several(where: Span, name: str, nodes: Sequence[str]) -> Diagnostic:
    return Diagnostic("H0824", f"`{name}` may be one of several headers here",
                      (Label(where, "which one?"),), f"name it: {_listed(nodes)}")  # fmt: skip


def unknown_field(where: Span, name: str, layer: str, known: Sequence[str]) -> Diagnostic:
    help_ = did_you_mean(name, known) or f"its fields are {_listed(known)}"
    return Diagnostic("H0825", f"`{layer}` has no field `{name}`", (Label(where, "unknown"),),
                      help_)  # fmt: skip


def bad_value(where: Span, text: str, layer: str, field: str, why: str) -> Diagnostic:
    return Diagnostic("H0826", f"`{layer}` cannot have `{field}` {text[:80]}",
                      (Label(where, why),), "leave it out, or describe other headers"
                      )  # fmt: skip


def not_looked_at(where: Span, kind: str, layer: str, field: str) -> Diagnostic:
    return Diagnostic("H0827", f"{kind} does not look at `{field}` of `{layer}`",
                      (Label(where, "would not matter"),),
                      f"leave it out: {kind} finds flows without it")  # fmt: skip


def missing(where: Span, kind: str, element: str, help_: str) -> Diagnostic:
    return Diagnostic("H0828", f"{kind} needs `{element}`, which this flow does not say",
                      (Label(where, "of this flow"),), help_)  # fmt: skip


# ---- action and parameters ------------------------------------------------------------------


def unknown_action(where: Span, name: str, known: Sequence[str]) -> Diagnostic:
    help_ = did_you_mean(name, known) or f"an action may say {_listed(known)}"
    return Diagnostic("H0829", f"no rule of this pipeline says `{name}`",
                      (Label(where, "unknown"),), help_)  # fmt: skip


def no_kind(where: Span, kinds: Sequence[str]) -> Diagnostic:
    if kinds:
        title, help_ = f"rules of {_listed(kinds)} could do this", f"add `rule: {kinds[0]}`"
    else:
        title = "no kind of rule does all this"
        help_ = "`helioctl intent apply` takes what one rule can say: see docs/intents.md"
    return Diagnostic("H0829", title, (Label(where, "which one?" if kinds else ""),), help_)


def not_a_port(where: Span, name: str, have: Sequence[str]) -> Diagnostic:
    help_ = did_you_mean(name, have) or f"its ports are on {_listed(have)}"
    return Diagnostic("H0830", f"the pipeline has no port on `{name}`",
                      (Label(where, "no port of it"),), help_)  # fmt: skip


def other_mode(where: Span, mode: str, runs: str) -> Diagnostic:
    return Diagnostic("H0830", f"the pipeline does not run in {mode} mode",
                      (Label(where, f"it runs in {runs} mode"),),
                      f"`mode: {runs}`, or load the pipeline otherwise")  # fmt: skip


def no_anatomy(pipeline: str) -> Diagnostic:
    return Diagnostic("H0831", f"the build of `{pipeline}` does not tell its headers", (),
                      "compile it with this release and load it again")  # fmt: skip


# ---- asking ---------------------------------------------------------------------------------


def unknown(name: str, known: Sequence[str]) -> Diagnostic:
    help_ = did_you_mean(name, known) or "`helioctl intent list` shows those that there are"
    return Diagnostic("H0832", f"there is no intent `{name}`", (), help_)


def in_force(name: str) -> Diagnostic:
    return Diagnostic("H0833", f"another intent `{name}` is active, and this one begins later", (),
                      f"`helioctl intent remove {name}` first, or take another `resourceId`"
                      )  # fmt: skip


def needs_agent(local: bool) -> Diagnostic:
    """`local`: of `--local`."""
    if local:
        title, help_ = "this needs the agent, and `--local` asks none", "leave `--local` out"
    else:
        title, help_ = "this needs the agent, and none runs here", "start `heliod`"
    return Diagnostic("H0834", title, (), help_)


def not_taken_back(name: str) -> Diagnostic:
    return Diagnostic("H0837", f"the intent `{name}` could not begin, and stays pending", (),
                      "the journal has it and cannot be written: it begins as soon as it can; "
                      f"`helioctl intent remove {name}` forgets it when the journal can be written"
                      )  # fmt: skip


def no_room(most: int) -> Diagnostic:
    title = f"the intents that are kept would have more than {most >> 20} MiB of text"
    return Diagnostic("H0835", title, (), "remove some that are over, or make this one shorter")


def too_many(most: int) -> Diagnostic:
    return Diagnostic("H0835", f"there are {most:,} intents already", (),
                      "remove some")  # fmt: skip


def gone(rules: int) -> Diagnostic:
    each = "its rule was" if rules == 1 else f"{rules} of its rules were"
    return Diagnostic("H0836", f"{each} deleted by somebody else", (),
                      "remove the intent, and apply it again", "warning")  # fmt: skip
