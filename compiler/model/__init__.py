"""The checked pipeline: every name resolved, every width known. What all later rooms read.

Made by check/program.py from a syntax tree; frozen. Widths are bits, sizes bytes, offsets bits from
the start of their header. Nothing here knows of C or of eBPF.
"""

from .conditions import (
    And,
    Compare,
    Comparison,
    Condition,
    Found,
    IsFragment,
    IsLimited,
    IsLocal,
    IsMulticast,
    Not,
    Or,
    PortIs,
    Present,
)
from .graph import Edge, Graph, Node, Test
from .headers import TAIL, Derived, Field, Group, Header
from .pipeline import Event, Hook, Pipeline, Stage
from .statements import (
    Append,
    Assign,
    Block,
    Bridge,
    Choose,
    ClampMss,
    Counted,
    Find,
    Forward,
    If,
    IfGives,
    Inline,
    MatchReference,
    MatchValue,
    Pop,
    PopLink,
    Push,
    PushElement,
    Queue,
    Recall,
    ReferenceArm,
    Remember,
    Statement,
    Tell,
    Verdict,
)
from .tables import Element, Match, Requirement, Reserved, RuleKind, Slot, Spread, State
from .values import (
    Arithmetic,
    Arrival,
    Attribute,
    Const,
    Count,
    Expr,
    First,
    Given,
    Hash,
    Item,
    Items,
    Kind,
    Layer4,
    Listed,
    Own,
    Packet,
    PortOf,
    Recalled,
)

__all__ = [
    "TAIL", "And", "Append", "Arithmetic", "Arrival", "Assign", "Attribute", "Block", "Bridge",
    "Choose", "ClampMss", "Compare", "Comparison", "Condition", "Const", "Count", "Counted",
    "Derived", "Edge", "Element", "Event", "Expr", "Field", "Find", "First", "Forward",
    "Found", "Given", "Graph", "Group", "Hash", "Header", "Hook", "If", "IfGives", "Inline",
    "IsFragment", "IsLimited", "IsLocal", "IsMulticast", "Item", "Items", "Kind", "Layer4",
    "Listed", "Match", "MatchReference", "MatchValue", "Node", "Not", "Or", "Own", "Packet",
    "Pipeline", "Pop", "PopLink", "PortIs", "PortOf", "Present", "Push", "PushElement", "Queue",
    "Recall", "Recalled", "ReferenceArm", "Remember", "Requirement", "Reserved", "RuleKind", "Slot",
    "Spread", "Stage", "State", "Statement", "Tell", "Test", "Verdict",
]  # fmt: skip
