"""Errors of what is asked of state tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...lang.contract.manifest.manifest import State
from ...lang.text.diagnostics import Diagnostic, did_you_mean


def no_such_state(name: str, have: Iterable[str]) -> Diagnostic:
    have = list(have)
    if not have:
        title = f"there is no state table `{name}`: the pipeline has none"
        return Diagnostic(
            "H0717", title, (), "`state NAME {…}` in the pipeline's file declares one"
        )
    help_ = did_you_mean(name, have) or f"there {'are' if len(have) > 1 else 'is'} {_all(have)}"
    return Diagnostic("H0717", f"there is no state table `{name}`", (), help_)


def no_whole_key(state: State, what: str) -> Diagnostic:
    names = [slot.name for slot in state.match]
    help_ = f"a key says each once: {' '.join(f'{name}=VALUE' for name in names)}"
    return Diagnostic("H0718", f"this is no key of `{state.name}`: {what}", (), help_)


def no_such_entry(state: State) -> Diagnostic:
    return Diagnostic("H0719", f"`{state.name}` has no entry with this key", (),
                      f"`helioctl state list {state.name}` shows those that it has")  # fmt: skip


def no_such_slot(state: State, name: str) -> Diagnostic:
    names = [slot.name for slot in (*state.match, *state.gives)]
    help_ = did_you_mean(name, names) or f"it has {_all(names)}"
    return Diagnostic("H0735", f"`{name}` is no slot of `{state.name}`", (), help_)


def no_condition(word: str) -> Diagnostic:
    return Diagnostic("H0735", f"`{word}` says nothing of a slot", (),
                      "write SLOT=VALUE, as `src=10.0.0.0/8`")  # fmt: skip


def too_many_conditions(count: int, most: int) -> Diagnostic:
    return Diagnostic("H0735", f"these are {count:,} conditions: {most} at most", (),
                      "an entry has to fit them all: leave some out")  # fmt: skip


def too_long(name: str, length: int, most: int) -> Diagnostic:
    return Diagnostic("H0735", f"what `{name}` is to be has {length:,} characters: {most} at most",
                      (), "a value, a prefix, a value and its mask, or a range")  # fmt: skip


def no_names(kind: str, text: str) -> Diagnostic:
    return Diagnostic("H0735", f"{kind} rules have no names: `{text}` is none of them", (),
                      "write the rule's id; rules of a `named` kind have names")  # fmt: skip


def no_such_port(text: str, have: Sequence[str]) -> Diagnostic:
    help_ = did_you_mean(text, have) or f"it has {_all(have)}"
    return Diagnostic("H0736", f"`{text}` is no port of the pipeline", (), help_)


def _all(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
