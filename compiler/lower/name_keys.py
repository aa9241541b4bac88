"""Domain names in keys: what rules are compared with, by way of the scratch record."""

from __future__ import annotations

from ..headers.fields import field_value
from ..headers.groups import part_pointer
from ..ir.builder import Builder
from ..ir.expr import CTX, Call, Expr, Name, NotNull, State, element, number
from ..ir.nodes import Do
from ..ir.types import U64, Array
from ..model import Group, Header
from ..tables.layout import Container, Key
from .context import LoweringContext
from .values import SCRATCH

#: Of the text of the longest name in a packet.
WORDS_OF_NAME = 32


def is_name(site: LoweringContext, container: Container) -> bool:
    """Whether the container is what rules are compared with of a domain name."""
    assert container.group is not None
    header = site.header(container.node)
    group = header.group(container.group)
    if header.option(group.name) is None:
        return bool(header.domain_name(group.name) or group.text)
    return bool(group.text) and container.offset * 8 == group.width


def name_key(
    site: LoweringContext,
    key: Key,
    words: Name,
    container: Container,
    bit: int | None,
) -> None:
    """What rules are compared with of a domain name, by way of the scratch record."""
    w, node, size = site.writer, container.node, number(container.size)
    header, name = site.header(node), container.group or ""
    group, labels = header.group(name), header.domain_name(name)
    with w.when(NotNull(site.pointer(node))):
        pointer = site.pointer(node)
        if labels is not None:
            w.put(Do(Call("name_key", (CTX, SCRATCH, pointer + labels.at, size))))
            _copy_name(w, key, words, container, bit)
            return
        if header.option(name) is None:
            _text(w, header, group, pointer, header.fixed // 8, size)
            _copy_name(w, key, words, container, bit)
            return
        option = part_pointer(site, node, name, pointer)
        with w.when(option):
            _text(w, header, group, option, group.width // 8, size)
            _copy_name(w, key, words, container, bit)


def _text(w: Builder, header: Header, group: Group, start: Expr, at: int, size: Expr) -> None:
    """Of a name's text, `at` bytes behind the start of what it stands in."""
    length = field_value(start, header.field(group.text)).host()
    w.put(Do(Call("text_key", (CTX, SCRATCH, start + at, length, size))))


def _copy_name(w: Builder, key: Key, words: Name, container: Container, bit: int | None) -> None:
    kept = State("name", Array(U64, WORDS_OF_NAME), scratch=True)
    count = container.size // 8
    for i in range(count):
        word = element(kept, WORDS_OF_NAME - count + i)
        w.set(element(words, container.at // 8 + i), word)
    if bit is not None:
        present(w, key, words, bit)


def present(w: Builder, key: Key, words: Name, bit: int) -> None:
    """Set a presence bit: `bit` counts from the key's least significant (last) byte."""
    byte = key.size - 1 - bit // 8
    w.join(element(words, byte // 8), 1 << (byte % 8 * 8 + bit % 8))
