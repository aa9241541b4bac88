"""Names that C, the kernel and its BTF take."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Bytes of a function's name that every kernel's BTF takes: KSYM_NAME_LEN of Linux 5.10 is 128.
LONGEST_NAME = 100


def c_name(node: str) -> str:
    """The name of a node in C: `vlan[1]` is `vlan__1`, which no other node may be called."""
    return node.replace("[", "__").replace("]", "")


def constant_name(*parts: str) -> str:
    """An enumerator of C."""
    return re.sub(r"\W+", "_", c_name("_".join(parts))).strip("_").upper()


def symbols(names: Iterable[tuple[str, ...]], prefix: str) -> dict[tuple[str, ...], str]:
    """An enumerator of C for each; of those that would be alike the later ones with a number."""
    found: dict[tuple[str, ...], str] = {}
    taken: set[str] = set()
    for i, parts in enumerate(names):
        symbol = constant_name(prefix, *parts)
        found[parts] = symbol if symbol not in taken else f"{symbol}_{i}"
        taken.add(found[parts])
    return found


def function_name(name: str) -> str:
    """The name, or where no kernel would take one so long its beginning and a digest."""
    if len(name) <= LONGEST_NAME:
        return name
    from hashlib import blake2b

    return f"{name[: LONGEST_NAME - 17]}_{blake2b(name.encode(), digest_size=8).hexdigest()}"
