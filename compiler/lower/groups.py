"""Where the parts of a header behind its fixed part are, as C: groups, arrays, the tail."""

from __future__ import annotations

from ..model import TAIL, Group, Header
from .fields import field_value
from .site import Site
from .values import value


def present(header: Header, group: Group, pointer: str) -> str:
    """C text of whether the header at `pointer` has the group; "1" where it always has."""
    flags = [field_value(pointer, header.field(flag)).text for flag in group.flags]
    if len(flags) < 2:
        return flags[0] if flags else "1"
    return f"({' || '.join(flags)})"


def octets(site: Site, header: Header, group: Group, pointer: str) -> str:
    """C text of how many octets of the header at `pointer` the group takes."""
    there, each = present(header, group, pointer), group.width // 8
    size = str(each)
    if group.count is not None:
        size = f"{value(site, group.count, (pointer, header)).host()} * {each}"
    return size if there == "1" else f"({there} ? {size} : 0)"


def parts(site: Site, header: Header, pointer: str, before: str = "") -> str:
    """C text of the octets of the fixed part and the groups, or of those before a group."""
    texts = [str(header.fixed // 8)]
    for group in header.groups:
        if group.name == before:
            break
        texts.append(octets(site, header, group, pointer))
    return " + ".join(texts)


def size(site: Site, header: Header, pointer: str) -> str:
    """C text of the octets of the whole header."""
    if header.size is not None:
        return value(site, header.size, (pointer, header)).host()
    return parts(site, header, pointer)


def start(site: Site, header: Header, name: str, pointer: str) -> str:
    """C text of the octet at which a group starts, within bounds that the verifier sees."""
    if name == TAIL:
        text = f"({size(site, header, pointer)}) - {header.tail // 8}"
    else:
        text = parts(site, header, pointer, before=name)
    return f"(({text}) & {(1 << header.maximum.bit_length()) - 1})"


def group_pointer(
    site: Site,
    header: Header,
    name: str,
    base: str,
    end: str = "limit_of(ctx)",
    sure: bool = True,
) -> str:
    """C name of a pointer to a group of the header at `base`; null where the group is absent, and
    where the header is unless `sure`: a second test of a pointer lets clang go on with a 0 where
    the verifier knows the pointer. `end`: C text of where the packet's octets end. Of an array, its
    first element."""
    w, group = site.writer, header.group(name)
    pointer, there = w.fresh("group"), present(header, group, base)
    at = f"{base} + {start(site, header, name, base)}"
    absent = "" if there == "1" else f"!{there} || "
    if not sure:
        at, absent = f"{base} ? {at} : 0", f"!{pointer} || {absent}"
    w.put(
        f"void *{pointer} = {at};",
        f"if ({absent}{pointer} + {group.width // 8} > {end})",
        f"\t{pointer} = 0;",
    )
    return pointer
