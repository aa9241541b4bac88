"""Statements of a stage, for one port role."""

from __future__ import annotations

from ..headers.outline import Outline, cut_behind, popped_to, pushed, without_link
from ..ir import edits
from ..ir.expr import Member, Name, Number, binary, element, named, number
from ..ir.expr_builders import either
from ..ir.nodes import Barrier, KnownNotNull, StatementStart
from ..ir.types import U8, U32, U64, Array
from ..model import (
    Append,
    Assign,
    Block,
    Bridge,
    Choose,
    ClampMss,
    Copy,
    Counted,
    DecodeProbe,
    Each,
    Emit,
    Exchange,
    Find,
    Forget,
    Forward,
    If,
    IfGives,
    Inline,
    Let,
    MatchNumber,
    MatchReference,
    MatchValue,
    Pop,
    PopLink,
    Push,
    Queue,
    Recall,
    Remember,
    Reply,
    SetRegister,
    Statement,
    Update,
    Verdict,
)
from ..tables.layout import member_name
from . import trace
from .changes import append, assign, bridge, finish, forward, push, reply
from .conditions import condition, present_if, which
from .context import LoweringContext, known_as
from .decode_probe import probe
from .emits import emit
from .kept_rules import find_kept
from .lookup import (
    bind,
    bind_given,
    choose,
    dereference,
    find,
    gives_test,
    tag_of,
    unbind,
)
from .registers import set_register
from .states import exchange, forget, recall, remember, update
from .values import local_state, value

#: Branches among which clang looks for reads of the same; a compilation of 128 took a second.
MOST_TOGETHER = 32


def lower_block(site: LoweringContext, block: Block) -> Outline | None:
    """Lower the statements in order. Returns the packet's shape behind the block, or None if
    nothing comes behind it."""
    for statement in block.statements:
        with site.writer.at(statement.span):
            site.writer.put(StatementStart())
            shape = _statement(site, statement)
        if shape is None:
            return None
        site.reshape(shape)
    return site.outline


def _statement(site: LoweringContext, s: Statement) -> Outline | None:
    match s:
        case If():
            return _if(site, s)
        case IfGives():
            return _if_gives(site, s)
        case MatchValue():
            return _match_value(site, s)
        case MatchNumber():
            return _match_number(site, s)
        case MatchReference():
            return _match_reference(site, s)
        case Find() | Choose():
            return _look_up(site, s)
        case Remember() | Recall() | Exchange():
            return _on_state(site, s)
        case Forget():
            with site.writer.block():
                forget(site, s)
        case Update():
            with site.writer.block():
                update(site, s)
        case SetRegister():
            with site.writer.block():
                set_register(site, s)
        case Push():
            push(site, s)
            return pushed(site.outline, tuple(e.node for e in s.elements), s.before, s.behind)
        case Append():
            append(site, s)
            return cut_behind(site.outline, s.behind)
        case Pop(node):
            site.writer.put(edits.Pop(node))
            return popped_to(site.outline, site.graph, site.role, node)
        case PopLink(node):
            site.writer.put(edits.PopLink(node))
            return without_link(site.outline, node)
        case Assign():
            assign(site, s)
        case ClampMss():
            site.writer.put(edits.ClampMss())
        case Forward():
            forward(site, s)
            return None
        case Bridge():
            bridge(site, s)
            return None
        case Reply():
            reply(site, s)
            return None
        case Copy():
            _copy(site, s)
        case Each():
            _each(site, s)
        case Let(local, read):
            site.writer.set(local_state(local), value(site, read).host())
        case Queue(number):
            site.writer.set(site.state("queue"), 1 + value(site, number).host())
            trace.queue(site)
        case Counted(reason):
            site.writer.count(site.events("count", reason))
        case Emit():
            with site.writer.block(f"emit_{s.event}"):
                emit(site, s)
        case Verdict(verdict):
            finish(site, verdict)
            return None
        case Inline(_, body):
            return _inlined(site, body)
        case DecodeProbe(nodes):
            probe(site, nodes)
    return site.outline


def _scoped(
    site: LoweringContext, block: Block, known: frozenset[str] = frozenset()
) -> Outline | None:
    """A block with bindings of its own, run under a condition."""
    since = site.writer.captured
    shape = lower_block(site.branch(known), block)
    if shape is not None and shape != site.outline:
        site.writer.outlive(since)  # what a push took is written behind the block
    return shape


def _inlined(site: LoweringContext, block: Block) -> Outline | None:
    """A block with bindings of its own, run by every packet: what it learns is known behind it."""
    inner = site.branch()
    shape = lower_block(inner, block)
    site.known = inner.known
    return shape


def _join(shapes: list[Outline | None]) -> Outline | None:
    """The shape behind a branch: all ways that go on must agree."""
    going = [s for s in shapes if s is not None]
    if not going:
        return None
    assert all(s == going[0] for s in going), "H0269, H0341, H0342"
    return going[0]


def _copy(site: LoweringContext, s: Copy) -> None:
    """What it names is known within; the packet behind it is as it was."""
    with site.writer.copied(s.most):
        lower_block(site.branch(), s.body)


def _each(site: LoweringContext, s: Each) -> None:
    """A round for each place of the list, up to the first that is empty."""
    w, lister = site.writer, site.tables[s.lister]
    assert lister.rule.spread is not None
    record = site.record(s.source)
    with w.block(f"each_{s.binding}"):
        listed = w.local(record.type, "listed", record)
        round_ = Name(w.fresh("round"), U32)
        cell = element(Member(listed, "slots", Array(U32, 0)), round_)
        with w.repeated(round_, lister.rule.spread.most, cell):
            inner = site.branch()
            referred = w.local(U32, "referred", cell)
            bind(inner, s.rule, dereference(inner, s.rule, referred), referred, s.binding)
            lower_block(inner, s.body)


def _count_branch(site: LoweringContext) -> None:
    """Count a branch. Behind each MOST_TOGETHER of a function clang forgets what is in memory: it
    compares each read with those of all branches before, in more than their number's square."""
    site.writer.branches += 1
    if site.writer.branches % MOST_TOGETHER == 0:
        site.writer.put(Barrier())


def _if(site: LoweringContext, s: If) -> Outline | None:
    _count_branch(site)
    test = condition(site, s.condition)
    if isinstance(test, bool):  # the port role decides: there is no code for the test
        if isinstance(site.writer.statements[-1], StatementStart):
            site.writer.statements.pop()
        return _inlined(site, s.then if test else s.otherwise)
    with site.writer.when(test):
        then = _scoped(site, s.then, present_if(s.condition, True))
    otherwise: Outline | None = site.outline
    if s.otherwise.statements:
        with site.writer.otherwise():
            otherwise = _scoped(site, s.otherwise, present_if(s.condition, False))
    if then is None:
        site.learn(present_if(s.condition, False))
    elif otherwise is None:
        site.learn(present_if(s.condition, True))
    return _join([then, otherwise])


def _if_gives(site: LoweringContext, s: IfGives) -> Outline | None:
    _count_branch(site)
    with site.writer.when(gives_test(site, s)):
        inner = site.branch()
        kept = bind_given(inner, s)
        then = lower_block(inner, s.then)
        if kept and then is not None:
            unbind(inner, s.given)
    otherwise: Outline | None = site.outline
    if s.otherwise.statements:
        with site.writer.otherwise():
            otherwise = _scoped(site, s.otherwise)
    return _join([then, otherwise])


def _match_value(site: LoweringContext, s: MatchValue) -> Outline | None:
    w = site.writer
    chosen = w.local(U64, "value", value(site, s.subject).host())
    shapes: list[Outline | None] = []
    for i, (values, body) in enumerate(s.arms):
        with w.either(i == 0, either(chosen.is_(_symbol(site, s, v)) for v in values)):
            shapes.append(_scoped(site, body))
    with w.otherwise():  # no other value passes the checks of a request
        site.drop("absent reference")
    return _join(shapes)


def _match_number(site: LoweringContext, s: MatchNumber) -> Outline | None:
    """The number of the arm is looked up, and the arm by halves: no arm is behind all others."""
    every = enumerate((ranges for ranges, _ in s.arms), 1)
    ranges = sorted((low, high, i) for i, own in every for low, high in own)
    chosen = site.writer.local(U32, "arm", which(value(site, s.subject), ranges))
    arms = [s.otherwise, *(body for _, body in s.arms)]
    shapes: list[Outline | None] = []

    def among(first: int, behind: int) -> None:
        half = (first + behind) // 2
        if half == first:
            _count_branch(site)
            shapes.append(_scoped(site, arms[first]))
            return
        with site.writer.when(binary("<", chosen, half)):
            among(first, half)
        with site.writer.otherwise():
            among(half, behind)

    among(0, len(arms))
    return _join(shapes)


def _symbol(site: LoweringContext, s: MatchValue, value: int) -> Number:
    """A value of an element, by the name that the pipeline gives it."""
    element = site.pipeline.element(s.subject.element)
    name = next((name for name, number in element.symbols if number == value), "")
    if not name or value >> 31:  # enumerators are of type int
        return number(value)
    return named(value, "IE", element.name, name)


def _match_reference(site: LoweringContext, s: MatchReference) -> Outline | None:
    w, element = site.writer, s.subject.element
    record = site.record(s.subject.binding)
    references = site.pipeline.element(element).references
    shapes: list[Outline | None] = []
    for i, arm in enumerate(s.arms):
        tag = tag_of(references, arm.kind)
        kind = named(tag, "TAG", s.subject.rule, element, arm.kind)
        with w.either(i == 0, Member(record, f"{element}_tag", U8).is_(kind)):
            inner = site.branch()
            cell = w.local(U32, "referred", Member(record, member_name(element)))
            if arm.kind == "port":
                inner.ports[arm.binding] = cell
            else:
                found = dereference(inner, arm.kind, cell)
                bind(inner, arm.kind, found, cell, arm.binding)
            shapes.append(lower_block(inner, arm.body))
    with w.otherwise():
        site.drop("absent reference")
    return _join(shapes)


def _on_state(site: LoweringContext, s: Remember | Recall | Exchange) -> Outline | None:
    """`otherwise` is for where there is no entry, where there was one, or where it holds something
    else."""
    shapes: list[Outline | None] = []

    def otherwise(at: LoweringContext) -> None:
        shapes.append(_scoped(at, s.otherwise))

    match s:
        case Remember():
            with site.writer.block():
                remember(site, s, otherwise)
        case Recall():
            recall(site, s, otherwise)
        case Exchange():
            with site.writer.block():
                exchange(site, s, otherwise)
    return _join([site.outline, *shapes])


def _look_up(site: LoweringContext, s: Find | Choose) -> Outline | None:
    """A look-up; its miss runs `otherwise`, which may go on behind it with the rule unbound."""
    shapes: list[Outline | None] = []

    def miss(at: LoweringContext) -> None:
        if isinstance(s, Choose) and not s.otherwise.statements:
            at.drop("no member")
        else:
            shapes.append(_scoped(at, s.otherwise))

    if isinstance(s, Find) and s.kept is not None:
        find_kept(site, s.rule, s.kept, miss)
    elif isinstance(s, Find):
        find(site, s, miss)
    else:
        choose(site, s, miss)
    record = site.rule_record(s.rule)
    if any(shapes):  # a miss goes on as well
        site.known.discard(known_as(record))
    else:
        site.known.add(known_as(record))
        site.writer.put(KnownNotNull((record,)))
    return _join([site.outline, *shapes])
