"""Syntax nodes of a `.hp` file, as written: nothing resolved, every node with its span.

The tree mirrors `Helio.g4` one to one. Names are `Name` nodes, so that a diagnostic can point at
the word itself.
"""

from .expressions import (
    Address,
    Binary,
    Call,
    Expr,
    Gives,
    In,
    Is,
    Name,
    Node,
    Number,
    Path,
    Range,
    Unary,
)
from .graph import Edge, Test
from .headers import (
    Accept,
    Extent,
    Field,
    Group,
    Header,
    Member,
    Payload,
    Reach,
    Require,
    Size,
    Type,
)
from .program import (
    Action,
    Comment,
    Constant,
    Declaration,
    Default,
    Hook,
    Import,
    Parser,
    Pipeline,
    Ports,
    Program,
    Run,
    Stage,
)
from .statements import (
    Append,
    Apply,
    Arm,
    Assign,
    Block,
    Bridge,
    Choose,
    Clamp,
    Count,
    Find,
    Forward,
    If,
    Let,
    MatchOn,
    Pop,
    PopLink,
    Push,
    PushElement,
    Queue,
    Recall,
    Remember,
    Statement,
    Swap,
    Verdict,
)
from .tables import (
    Ages,
    Counts,
    GivesList,
    InformationElement,
    Match,
    Priority,
    Rule,
    RuleClause,
    Slot,
    Slots,
    Spread,
    State,
    Symbol,
)

__all__ = [
    "Accept", "Action", "Address", "Ages", "Append", "Apply", "Arm", "Assign", "Binary", "Block",
    "Bridge", "Call", "Choose", "Clamp", "Comment", "Constant", "Count", "Counts", "Declaration",
    "Default", "Edge", "Expr", "Extent", "Field", "Find", "Forward", "Gives", "GivesList", "Group",
    "Header", "Hook", "If", "Import", "In", "InformationElement", "Is", "Let", "Match", "MatchOn",
    "Member", "Name", "Node", "Number", "Parser", "Path", "Payload", "Pipeline", "Pop", "PopLink",
    "Ports", "Priority", "Program", "Push", "PushElement", "Queue", "Range", "Reach", "Recall",
    "Remember", "Require", "Rule", "RuleClause", "Run", "Size", "Slot", "Slots", "Spread", "Stage",
    "State", "Statement", "Swap", "Symbol", "Test", "Type", "Unary", "Verdict",
]  # fmt: skip
