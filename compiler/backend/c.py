"""Statements of the intermediate representation as C, in the kernel's style."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...lang.text.source import Span
from ..ir import nodes as n
from ..ir.expr import Expr, Number, Swap, not_, number
from ..ir.types import Array, Pointer, Struct, Type, c_type
from ..ir.walk import blocks, ends, may_end
from .c_expr import text_of
from .c_lines import WIDTH, EndsAs, declares, flat, said_once, statement_comment

Lines = Iterator["Line"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of C at a nesting depth; `span` is the `.hp` text it carries out."""

    depth: int
    text: str
    span: Span | None

    def __str__(self) -> str:
        return "\t" * (self.depth + 1) + self.text if self.text else ""


class _Margin(Line):
    """A label: it stands at the margin, as in kernel C."""

    def __str__(self) -> str:
        return self.text


def lines_of(body: n.Body) -> Lines:
    yield from _lines(said_once(body, 0), 0)


def _lines(body: n.Body, depth: int) -> Lines:
    for statement in flat(body):
        yield from _statement(statement, depth)


def shared(body: n.Body) -> Iterator[n.Block]:
    """The blocks of a body that are functions, inner ones first; of one name perhaps several."""
    for s in body:
        for inner in blocks(s):
            yield from shared(inner)
        if isinstance(s, n.Block) and s.name:
            yield s


def prototype(block: n.Block, context: str) -> str:
    """Of the function that a shared block is; `context`: the struct that a program is given."""
    given = "".join(f", {declared(name.type, name.name)}" for name in block.reads)
    arguments = f"struct {context} *ctx, struct state *st{given}"
    text = f"static SHOWN_INLINE {_result(block)} {block.name}({arguments})"
    return "\n".join(_folded(text, "\t\t"))


def _result(block: n.Block) -> str:
    return "int" if may_end(block.body) else "void"


_BREAKS = re.compile(r"(?<=, )|(?<= && )|(?<= \|\| )|(?<= \+ )|(?<= [|&?:] )")


def folded(body: n.Body) -> Iterator[str]:
    """The same for people: no line is longer than WIDTH where it has a place to be broken at."""
    for line in lines_of(body):
        yield from _folded(str(line), "\t" * (line.depth + 3))


def _folded(text: str, indent: str) -> Iterator[str]:
    while len(text.expandtabs(8)) > WIDTH and (at := _break_of(text)):
        yield text[:at].rstrip()
        text = indent + text[at:]
    yield text


def _break_of(text: str) -> int:
    """Where a line is best broken: in as few parentheses as can be, then late; 0: nowhere."""
    code = text.lstrip("\t")
    tabs = len(text) - len(code)
    room = WIDTH - 8 * tabs
    every = [m.start() for m in _BREAKS.finditer(code)]
    if not every or code.startswith("/*"):
        return 0
    fits = [at for at in every if at <= room] or every[:1]
    places = [at for at in fits if room // 3 < at] or fits

    def rank(at: int) -> tuple[int, int]:
        return code.count("(", 0, at) - code.count(")", 0, at), -at

    return tabs + min(places, key=rank)


def _statement(s: n.Statement, depth: int) -> Lines:
    match s:
        case n.If():
            yield from _if(s, depth)
        case n.Block() if s.name:
            for text in _called(s):
                yield Line(depth + text.startswith("\t"), text.lstrip(), s.span)
        case n.Block(body):
            yield Line(depth, "{", s.span)
            yield from _lines(body, depth + 1)
            yield Line(depth, "}", s.span)
        case n.Repeat(index, most, test, body):
            name = index.name
            yield Line(depth, f"for (u32 {name} = 0; {name} < {most}; {name}++) {{", s.span)
            yield Line(depth + 1, f"if ({text_of(not_(test))})", s.span)
            yield Line(depth + 2, "break;", s.span)
            yield from _lines(body, depth + 1)
            yield Line(depth, "}", s.span)
        case n.AssumeNot(test):
            yield Line(depth, f"if (unlikely({text_of(test)}))", s.span)
            yield Line(depth + 1, "return internal();", s.span)
        case n.StatementStart():
            yield from _step(s, depth)
        case n.Label():
            yield _Margin(depth, _simple(s), s.span)
        case n.Trace(_, words, number):
            for call in _traced(number, words):
                yield Line(depth, call, s.span)
        case _:
            yield Line(depth, _simple(s), s.span)


def _called(s: n.Block) -> Iterator[str]:
    """The call of a function that a block is."""
    given = "".join(f", {text_of(each)}" for each in s.reads)
    call = f"{s.name}(ctx, st{given})"
    if ends(s.body):
        yield f"return {call};"
    elif not may_end(s.body):
        yield f"{call};"
    else:
        yield f"result = {call};"
        yield "if (result != CONTINUE)"
        yield "\treturn result;"


def asks(body: n.Body) -> bool:
    """Whether a function asks, by the variable `result`, if a packet's way ended in another."""
    for s in body:
        called = isinstance(s, n.Block) and bool(s.name)
        if isinstance(s, n.Block) and called and may_end(s.body) and not ends(s.body):
            return True
        if not called and any(map(asks, blocks(s))):
            return True
    return False


def _step(s: n.StatementStart, depth: int) -> Lines:
    """What the following lines carry out, as the `.hp` file says it."""
    if s.span is not None:
        yield Line(depth, statement_comment(s.span, depth), s.span)


def _if(s: n.If, depth: int) -> Lines:
    """A chain of tests, without `else` where no way leads behind the arms in front."""
    chain: list[_Arm] = []
    for arm in _arms(s, "if"):
        apart = bool(chain) and all(ends(each.body) for each in chain)
        if apart and not (arm.head == "else" and declares(arm.body)):
            yield from _chain(chain, depth)
            chain = []
            if arm.head == "else":
                yield from _lines(arm.body, depth)
                return
            arm = replace(arm, head=arm.head.removeprefix("else "))
        chain.append(arm)
    yield from _chain(chain, depth)


@dataclass(frozen=True)
class _Arm:
    head: str
    body: n.Body
    span: Span | None


def _chain(arms: list[_Arm], depth: int) -> Lines:
    """Without braces where each arm is one statement."""
    bodies = [flat(arm.body) for arm in arms]
    plain = all(len(body) == 1 and _is_single(body[0]) for body in bodies)
    for i, (arm, body) in enumerate(zip(arms, bodies, strict=True)):
        yield Line(depth, arm.head if plain else f"{'} ' if i else ''}{arm.head} {{", arm.span)
        yield from _lines(body, depth + 1)
    if not plain:
        yield Line(depth, "}", arms[0].span)


def _arms(s: n.If, word: str) -> Iterator[_Arm]:
    test = f"unlikely({text_of(s.test)})" if s.unlikely else text_of(s.test)
    yield _Arm(f"{word} ({test})", s.then, s.span)
    match s.otherwise:
        case ():
            return
        case (n.If() as inner,):
            yield from _arms(inner, "else if")
        case body:
            yield _Arm("else", body, s.span)


def _is_single(s: n.Statement) -> bool:
    return isinstance(s, _SINGLE) or _is_call(s)


def _is_call(s: n.Statement) -> bool:
    """Of one line."""
    return isinstance(s, n.Block) and bool(s.name) and (ends(s.body) or not may_end(s.body))


#: What stands alone behind a test: a line of C.
_SINGLE = (
    n.Set, n.Store, n.Do, n.Count, n.CountRule, n.Emit, n.Verdict, n.Return, n.Internal, n.Goto,
    n.Next, n.Stop, EndsAs,
)  # fmt: skip


_VERDICTS = {"pass": "pass", "drop": "drop", "tx": "send_back"}


def _simple(s: n.Statement) -> str:
    """A statement of one line."""
    match s:
        case n.Let(name, value):
            return f"{declared(name.type, name.name)}{_assigned(value)};"
        case n.LetArray(name, values):
            assert isinstance(name.type, Array)
            inside = f" {', '.join(map(text_of, values))} " if values else ""
            return f"{c_type(name.type)} {name.name}[{name.type.count}] = {{{inside}}};"
        case n.LetStruct(name, value):
            return f"{c_type(name.type)} {name.name}{_assigned(value) or ' = {}'};"
        case n.Set(place, value, operator):
            return f"{text_of(place)} {operator}= {text_of(value)};"
        case n.Store(base, at, bits, value):
            return _store(base, at, bits, value)
        case n.Do(call):
            return f"{text_of(call)};"
        case n.Count(event):
            return f"count_event({text_of(event)});"
        case n.Emit(event, record):
            return f"raise_{event}({text_of(record)});"
        case n.CountRule(table, cell, length):
            return f"{table}_count({text_of(cell)}, {text_of(length)});"
        case EndsAs(event, action):
            return f"return {action}_as({text_of(event)});"
        case n.Verdict(_, action):
            return f"return {_VERDICTS[action]}();"
        case n.Return(value):
            return f"return {text_of(value) if value is not None else 'CONTINUE'};"
        case n.Internal():
            return "return internal();"
        case n.Label(name, unlikely):
            return f"{name}: __attribute__((unused));" if unlikely else f"{name}:"
        case n.Next(label):
            return f"NEXT({label});"
        case n.Stop(label, _, event):
            return f"STOP({label}, {text_of(event)});"
        case n.Goto(label, leaves):
            return f"GOTO({label});" if leaves else f"goto {label};"
        case n.Barrier():
            return "barrier();"
        case n.ForgetPlaces():
            return "forget_places(st->scratch);"
        case n.Opaque(name, why):
            return f"barrier_var({name.name});" + (f" /* {why} */" if why else "")
        case n.Clear(pointer, count):
            return f"__builtin_memset({text_of(pointer)}, 0, {count});"
        case n.TraceRule(table, _, cell, epoch, number):
            return f"{table}_traced({number}, {text_of(cell)}, {text_of(epoch)});"
        case n.TraceNode(index, at):
            return f"st->trace->node[{index}] = {text_of(at + 1)};"
        case n.TraceParsed():
            return "trace_parsed(ctx);"
        case n.Blank():
            return ""
    raise AssertionError(s)


def _store(base: Expr, at: Expr, bits: int, value: Expr) -> str:
    """A number of the host's is swapped as it is stored."""
    place = f"{text_of(base)}, {text_of(at)}"
    if isinstance(value, Swap):
        return f"store_be{bits}({place}, {text_of(value.operand)});"
    if isinstance(value, Number) and bits <= 64:
        value = number(value.value)
    return f"store{bits}({place}, {text_of(value)});"


def declared(type_: Type, name: str) -> str:
    if isinstance(type_, Pointer | Struct):
        return f"{c_type(type_)}{'' if isinstance(type_, Pointer) else ' '}{name}"
    return f"{c_type(type_)} {name}"


def _assigned(value: Expr | None) -> str:
    return "" if value is None else f" = {text_of(value)}"


_AT_ONCE = 4  # words that a call of `trace_step` takes


def _traced(point: int, words: tuple[Expr, ...]) -> Iterator[str]:
    """Calls of `trace_step`, as many as it takes."""
    every = [str(point), *map(text_of, words)]
    for at in range(0, len(every), _AT_ONCE):
        some = every[at : at + _AT_ONCE]
        filled = [*some, *["0"] * (_AT_ONCE - len(some))]
        yield f"trace_step({len(some)}, {', '.join(filled)});"
