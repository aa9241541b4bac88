"""What can go wrong with rules on a card, and with loading for one: H0750 to H0759."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lang.text.diagnostics import Diagnostic
from ...lang.text.explain import Explanation

if TYPE_CHECKING:
    from ...lang.contract.rules.rules import Rule


def same_hash(rule: Rule) -> Diagnostic:
    title = f"`{rule.kind} {rule.id}` has the hash of another rule, and a card has room for one"
    return Diagnostic("H0750", title, (), "leave one of them out, or to the host")


def not_for_a_card(path: str) -> Diagnostic:
    return Diagnostic(
        "H0751", f"the bundle in `{path}` is not for a card", (),
        "compile it with `--target nfp`, or load it without `--offload`",
    )  # fmt: skip


def for_a_card(path: str) -> Diagnostic:
    return Diagnostic(
        "H0752", f"the bundle in `{path}` is for a card", (),
        f"add `--offload`, or load its host twin: `{path}/host`",
    )  # fmt: skip


def several_ports(role: str, names: list[str]) -> Diagnostic:
    return Diagnostic(
        "H0753", f"a card's program is loaded for one port, and {role} has {len(names)}", (),
        f"leave one of {', '.join(names)}; load the others by another --name",
    )  # fmt: skip


def no_card(interface: str, why: str) -> Diagnostic:
    return Diagnostic(
        "H0754", f"`{interface}` takes no program: {why}", (),
        "it must be a Netronome NFP with the CoreNIC firmware, without another program; "
        "`--or-host` loads the host twin instead",
    )  # fmt: skip


def other_rules(name: str) -> Diagnostic:
    return Diagnostic(
        "H0755", f"the rules of `{name}` are not kept as the new programs expect them", (),
        "unload it, and load the new bundle with its rules",
    )  # fmt: skip


EXPLANATIONS: dict[str, Explanation] = {
    "H0750": Explanation(
        "two rules of a card have one hash",
        "Rules of a kind that is found `by hash` are kept by a hash of 32 bits, and what was found "
        "is compared with all that it matches: so a packet whose hash is another rule's gains "
        "nothing. But of two rules with the same hash only one can be there. Among 10,000 rules "
        "there is such a pair in one of 86 cases.",
    ),
    "H0751": Explanation(
        "a bundle of the host cannot be offloaded",
        "`helioctl load --offload` takes what `helioc compile --target nfp` makes: other programs "
        "and maps than those of the host.",
    ),
    "H0752": Explanation(
        "a bundle of a card is not for the host",
        "A card's program chooses receive queues in a way that the host's kernel does not take. "
        "What does the same on the host lies in the bundle's folder `host`.",
    ),
    "H0753": Explanation(
        "a card's program belongs to one port",
        "The kernel binds a program to the device that it was loaded for. Each port role has a "
        "program, so each role names one port.",
    ),
    "H0754": Explanation(
        "an interface takes no program for its card",
        "The reason is the kernel's or the driver's: an interface without a card that runs "
        "programs, firmware that does not, a program attached already, maps that are too large "
        "together with those of others.",
    ),
    "H0755": Explanation(
        "programs on a card cannot be replaced by these",
        "Programs are replaced while packets flow, and find the rules that are there. So the kinds "
        "of rules, what they match and give, and their capacities must be those of before.",
    ),
}
