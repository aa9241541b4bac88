"""Names that C, the kernel and its BTF take."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Bytes of a function's name that every kernel's BTF takes: KSYM_NAME_LEN of Linux 5.10 is 128.
LONGEST_NAME = 100


def c_name(node: str) -> str:
    """The name of a node or a field in C: `vlan[1]` is `vlan__1`, which no other node may be
    called."""
    return node.replace("[", "__").replace("]", "").replace(".", "_")


def node_label(node: str) -> str:
    """Of the parser: where it is at a node."""
    return f"node_{c_name(node)}"


def chain_label(chain: str) -> str:
    """Of the parser: where it is at a chain."""
    return f"chain_{c_name(chain)}"


def local_name(name: str) -> str:
    """The member of the state that holds what a `let` named: no other ends so."""
    return f"let_{name}_"


def announced_name(chain: str) -> str:
    """The member of the state that holds what says what stands behind a chain."""
    return f"chain_{chain}_"


def option_name(node: str, index: int, option: str) -> str:
    """The member of the state that holds where an option of a node starts; `index`: of the node."""
    return f"option_{index}_{c_name(node)}_{option}_"


def is_local(member: str) -> bool:
    """Whether it is one of these."""
    return member.startswith(("let_", "chain_", "option_")) and member.endswith("_")


def constant_name(*parts: str) -> str:
    """An enumerator of C."""
    return re.sub(r"\W+", "_", c_name("_".join(parts))).strip("_").upper()


class Names:
    """Names of functions and enumerators, each given once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken: set[str] = set()
        for name in taken:
            self._take(name)

    def free(self, base: str) -> str:
        """The name, or as much of it as the kernel takes; where it is taken one with a number: the
        role `a_b` with a stage `c` asks for the same as the role `a` with a stage `b_c`."""
        name, number = base[:LONGEST_NAME], 1
        while not self._taken.isdisjoint((name, f"{name}_body")):
            number += 1
            name = f"{base[: LONGEST_NAME - len(str(number)) - 1]}_{number}"
        self._take(name)
        return name

    def _take(self, name: str) -> None:
        self._taken |= {name, f"{name}_body"}  # what the body of a helper is called


def symbols(names: Iterable[tuple[str, ...]], prefix: str) -> dict[tuple[str, ...], str]:
    """An enumerator of C for each."""
    given = Names()
    return {parts: given.free(constant_name(prefix, *parts)) for parts in names}
