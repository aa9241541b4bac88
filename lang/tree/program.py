"""The declarations of a pipeline, and the file they stand in."""

from __future__ import annotations

from ..text.frozen import Frozen
from ..text.source import Source, Span
from .expressions import Name, Node, Path, Range
from .graph import Chain, Edge
from .headers import Header
from .statements import Block, Verdict
from .tables import Event, InformationElement, Registers, Rule, State


class Constant(Node):
    """`const MESH = 10.0.0.0/8`: a name for a value, or for a set of values."""

    name: Name
    values: tuple[Range, ...]
    doc: str = ""


class Role(Node):
    """`uplink at tc.ingress link ip`: a role of ports, where these are attached, and what their
    packets begin with."""

    name: Name
    at: Path | None = None
    link: Name | None = None


class Ports(Node):
    """`ports lan, wan`: the roles."""

    roles: tuple[Role, ...]


class Parser(Node):
    edges: tuple[Edge, ...]
    chains: tuple[Chain, ...] = ()


class Default(Node):
    """`default pass`: what a miss means, unless the edge's YAML says otherwise."""

    verdict: Verdict


class Action(Node):
    """`action apply(FAR) { … }`."""

    name: Name
    parameter: Name
    body: Block
    doc: str = ""


class Stage(Node):
    name: Name
    body: Block
    doc: str = ""


class Hook(Node):
    """`on too_big { reply icmp }`."""

    event: Name
    verdict: Verdict


class Run(Node):
    """`run parser -> classifier -> forwarder`."""

    stages: tuple[Name, ...]


Declaration = (
    Constant
    | Ports
    | Parser
    | InformationElement
    | Rule
    | State
    | Registers
    | Event
    | Default
    | Action
    | Stage
    | Hook
    | Run
)


class Pipeline(Node):
    name: Name
    declarations: tuple[Declaration, ...]
    doc: str = ""


class Import(Node):
    """`std.gre`: one imported file."""

    path: Path


class Comment(Frozen):
    """A `//` comment (doc comments excepted): `fmt` puts it back. `own_line` if nothing stands
    before it on its line."""

    span: Span
    text: str
    own_line: bool


class Program(Node):
    """A whole file. `named`: constants stand somewhere where else only numbers or addresses do."""

    source: Source
    imports: tuple[Import, ...]
    headers: tuple[Header, ...]
    constants: tuple[Constant, ...]
    pipelines: tuple[Pipeline, ...]
    comments: tuple[Comment, ...] = ()
    named: bool = False
