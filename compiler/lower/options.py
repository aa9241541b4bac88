"""Options of a header: a function that goes from one to the next and keeps where those start that
the pipeline asks for.

The verifier follows the function once, by itself, and in it no more than one turn of the loop for
each option of the bound: where it is in the header is a number below the next power of two.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

from ...lang.contract.base.domain_names import LONGEST
from ..headers import groups
from ..headers.clauses import clause
from ..headers.context import option_of, place_of
from ..headers.fields import field_value
from ..headers.frame import DATA, END, let_edges
from ..ir.expr import Expr, HelperCall, Name, Symbol
from ..ir.expr_builders import both, either, low_bits
from ..ir.names import c_name
from ..ir.nodes import Goto, Label, Opaque, StatementStart
from ..ir.types import BYTES, U32
from ..model import TAIL, Group, Node, Options
from .context import LoweringContext

_OFFSET_BITS = 15
#: Of the function: where the header starts and the options end; the option that it is at.
FIRST, LAST = Name("a"), Name("b")
BEGIN, STOP, HERE, COUNT = Name("begin"), Name("stop"), Name("here"), Name("walked")
SOUND, BAD = 0, 1


def bad_options(site: LoweringContext, node: Node, pointer: Expr, at: Expr, size: Expr) -> Expr:
    """Walk the options of the header at `pointer`, the frame's byte `at`. Whether they are not
    sound."""
    options = node.header.options
    assert options is not None
    w, header = site.writer, node.header
    begin = w.local(U32, "begin", groups.parts(site, header, pointer, before=TAIL))
    stop = w.local(U32, "stop", size - header.tail // 8)
    call = site.helper(f"walk_{c_name(node.name)}", lambda inner: _walk(inner, node, options))
    assert isinstance(call, HelperCall)
    places = low_bits(at, _OFFSET_BITS) | begin << 16
    if options.within is None:
        return replace(call, a=places, b=stop).is_not(SOUND)
    within = w.local(U32, "within", clause(site, options.within, pointer, header).host())
    found = w.local(U32, "found", BAD)
    with w.when(within <= stop - begin):
        w.set(found, replace(call, a=places, b=begin + within))
    return found.is_not(SOUND)


def _walk(site: LoweringContext, node: Node, options: Options) -> None:
    w, header = site.writer, node.header
    bits = header.maximum.bit_length()
    wanted = [header.group(name) for name in node.options]
    let_edges(w)
    w.let(BYTES, "p", DATA + low_bits(FIRST, _OFFSET_BITS))
    w.let(U32, HERE.name, FIRST >> 16)
    w.let(U32, STOP.name, LAST)
    w.let(U32, COUNT.name, 0)
    comes_first = _comes_first(site, node)
    with w.when(comes_first) if comes_first else nullcontext():
        for group in wanted:
            w.set(option_of(site.graph, node.name, group.name), 0)
    w.put(Label("next_option"), StatementStart())
    for each in (STOP, HERE):
        w.put(Opaque(each, "whatever the verifier knows of it, it knows the same on each way"))
        w.set(each, low_bits(each, bits))
    with w.when(HERE >= STOP):
        w.returns(SOUND)
    with w.block():
        option = w.local(BYTES, "option", Name("p", BYTES) + HERE)
        _one(site, node, options, option, wanted)
    w.put(Label("walked_one"))
    w.add(COUNT, 1)
    with w.when(options.most > COUNT):
        w.put(Goto("next_option", most=options.most))
    w.returns(SOUND)


def _one(
    site: LoweringContext, node: Node, options: Options, option: Expr, wanted: list[Group]
) -> None:
    """The option at `option`: go on behind it."""
    w, heading = site.writer, options.heading
    kind = field_value(option, heading.field("kind")).host()
    if options.bare or options.end:
        with w.when(option + 1 > END):
            w.returns(BAD)
        alone = w.local(U32, "kind", kind)
        for ending in options.end:
            with w.when(alone.is_(ending)):
                w.returns(SOUND)
        if options.bare:
            with w.when(either(alone.is_(bare) for bare in options.bare)):
                w.add(HERE, 1)
                w.put(Goto("walked_one"))
    with w.when(either((HERE + heading.minimum > STOP, option + heading.minimum > END))):
        w.returns(BAD)
    kind = w.local(U32, "kind", kind)
    size = w.local(U32, "size", clause(site, options.size, option, heading).host())
    with w.when(either((size < heading.minimum, size > STOP - HERE))):
        w.returns(BAD)
    for i, group in enumerate(wanted):
        place = option_of(site.graph, node.name, group.name)
        there = _comes_first(site, node)
        text = _text_fits(node, group, option, size)
        fits = (size >= group.width // 8, place.is_(0), *text)
        first = both((*fits, *([there] if there else [])))
        with w.either(i == 0, _is_kind(group, kind)), w.when(first):
            w.set(place, HERE)
    w.add(HERE, size)


def _text_fits(node: Node, group: Group, option: Expr, size: Expr) -> list[Expr]:
    """Whether the name that the option ends with, if it has one, is in it, and no longer than names
    are."""
    if not group.text:
        return []
    length = field_value(option, node.header.field(group.text)).host()
    whole = group.width // 8
    return [option + whole <= END, length <= LONGEST, size >= length + whole]


def _comes_first(site: LoweringContext, node: Node) -> Expr | None:
    """Of a node of a chain, whether this is its first header: that one is read. None of others."""
    if site.graph.chain(node.name) is None:
        return None
    return place_of(node.name).is_(Symbol("ABSENT"))


def _is_kind(group: Group, kind: Expr) -> Expr:
    masked = kind if group.mask is None else kind & group.mask
    return either(
        masked.is_(low) if low == high else both((masked >= low, masked <= high))
        for low, high in group.kinds
    )
