"""The parse graph in a manifest (its key `anatomy`)."""

from __future__ import annotations

from ...text.frozen import Frozen


class Layer(Frozen):
    """A node of the parse graph. `fields`: how many bits each has. `protocol`: see
    `model.Header`."""

    name: str
    header: str
    protocol: str
    fields: dict[str, int]


class Step(Frozen):
    """An edge of the parse graph, taken where each field of `source` that is named lies in one of
    its ranges. Other conditions of the edge are not in the manifest."""

    source: str
    target: str
    when: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]


class Reading(Frozen):
    """What an element that `rule` matches is compared with: the first of these fields (node, name)
    that a packet has, and 0 where it has none. The node "l4" is the TCP or UDP header behind the
    innermost IP header."""

    rule: str
    element: str
    fields: tuple[tuple[str, str], ...]


class Stage(Frozen):
    """A stage: the rule kinds and states that it looks up, and the reasons that it counts."""

    name: str
    looks_up: tuple[str, ...]
    counts: tuple[str, ...]


class ParseGraph(Frozen):
    """The parse graph, for intents, which describe traffic by its headers, and for who draws it.
    `entries`: the nodes where packets start. `stages`: in the order in which packets meet them;
    none of a build by an earlier release."""

    layers: tuple[Layer, ...]
    steps: tuple[Step, ...]
    readings: tuple[Reading, ...]
    entries: tuple[str, ...]
    stages: tuple[Stage, ...] = ()
