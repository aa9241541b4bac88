"""The errors of packet tests (`X.test.yaml`): one function for each code, and its explanation."""

from __future__ import annotations

from collections.abc import Iterable

from ...text.diagnostics import Diagnostic, Label, did_you_mean
from ...text.explain import Explanation
from ...text.source import Span


def no_yaml(where: Span, problem: str) -> Diagnostic:
    return Diagnostic("H0501", "this is not YAML", (Label(where, problem),))


def misshapen(where: Span, problem: str) -> Diagnostic:
    return Diagnostic("H0501", f"this YAML {problem}", (Label(where, "this one"),))


def unknown_key(where: Span, key: str, of: str, known: Iterable[str]) -> Diagnostic:
    known = list(known)
    hint = did_you_mean(key, known) or f"{of} has {', '.join(known)}"
    return Diagnostic("H0502", f"{of} has no `{key}`", (Label(where, "not known here"),), hint)


def missing_key(where: Span, key: str, of: str) -> Diagnostic:
    return Diagnostic("H0503", f"{of} lacks `{key}`", (Label(where, f"`{key}` is needed"),))


def wrong_shape(where: Span, wanted: str) -> Diagnostic:
    return Diagnostic("H0504", f"this must be {wanted}", (Label(where, f"expected {wanted}"),))


def bad_value(where: Span, text: str, wanted: str, hint: str = "") -> Diagnostic:
    title = f"`{text}` is not {wanted}"
    return Diagnostic("H0505", title, (Label(where, f"expected {wanted}"),), hint)


def unknown_name(
    where: Span, name: str, what: str, known: Iterable[str], hint: str = ""
) -> Diagnostic:
    known = list(known)
    hint = did_you_mean(name, known) or hint or f"known: {', '.join(known) or 'none'}"
    return Diagnostic("H0506", f"there is no {what} `{name}`", (Label(where, "unknown"),), hint)


def twice(first: Span, second: Span, name: str, what: str) -> Diagnostic:
    labels = (Label(second, "again here"), Label(first, "first here"))
    return Diagnostic("H0507", f"{what} `{name}` is given twice", labels)


def out_of_place(where: Span, what: str, rule: str) -> Diagnostic:
    return Diagnostic("H0508", f"{what} is out of place", (Label(where, rule),))


EXPLANATIONS: dict[str, Explanation] = {
    "H0501": Explanation(
        "the file is not YAML",
        "A packet test file is YAML 1.1. The position is where reading it had to stop; the mistake "
        "may be a little in front of it: an indentation, a bracket, a `:` without a space.",
        "cases:\n  - name: first\n   port: LAN",
        "cases:\n  - name: first\n    port: LAN",
    ),
    "H0502": Explanation(
        "a key that means nothing here",
        "Every mapping of a packet test has a fixed set of keys; a header has its fields. A key "
        "that is not among them would be ignored silently, so it is refused.",
        "expect: {verdikt: pass}",
        "expect: {verdict: pass}",
    ),
    "H0503": Explanation(
        "a key that must be there is missing",
        "A case needs at least a name, a port, a packet and what is expected of it.",
        "- name: first\n  port: LAN\n  packet: [ethernet: {}]",
        "- name: first\n  port: LAN\n  packet: [ethernet: {}]\n  expect: {verdict: pass}",
    ),
    "H0504": Explanation(
        "a value of the wrong shape",
        "YAML knows mappings (`{a: b}`), sequences (`[a, b]`) and scalars. Here one of them stands "
        "where another is needed.",
        "events: miss OVERLAY",
        "events: [{miss: OVERLAY}]",
    ),
    "H0505": Explanation(
        "a value that cannot be read or does not fit",
        "Numbers are decimal or hexadecimal (`0x11`) and must fit the field; addresses are written "
        "`10.0.0.1` and `02:00:00:00:00:01`; octets are text, `0x…`, a count of zeros, or "
        "`in[14:42]` for octets of the packet that went in.",
        "user: {ttl: 300}",
        "user: {ttl: 30}",
    ),
    "H0506": Explanation(
        "a name that nothing has",
        "Ports are those of the file's `ports`; headers are the nodes and headers of the "
        "pipeline's parse graph, and `icmp`; events and rule kinds are those of the pipeline.",
        "port: LAN9",
        "port: LAN",
    ),
    "H0507": Explanation(
        "something is given twice",
        "A key may stand in a mapping once, and a case's name names one case.",
        "expect: {verdict: pass, verdict: drop}",
        "expect: {verdict: drop}",
    ),
    "H0508": Explanation(
        "a piece of a packet is out of place",
        "A packet is written outermost header first: headers, then at most one `payload`, then at "
        "most one `padding` (octets that no length counts), then at most one `cut` (the octets "
        "to keep).",
        "- [{payload: hello}, {ethernet: {}}]",
        "- [{ethernet: {}}, {payload: hello}]",
    ),
}
