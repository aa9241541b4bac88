"""Counters: per CPU, summed; and those of builds before, in maps named `…_before`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..kernel import libbpf
from ..kernel.handles import BpfError, Map
from ..kernel.system import ENOTSUPP

_ENOENT = -2  # of a batch: that was the end


def before_of(name: str) -> str:
    """The map with what the map `name` of builds before held: `loading/carry_counters.py`."""
    return f"{name.removesuffix('_counts')}_before"


def read_sums(counters: Map, count: int) -> npt.NDArray[np.uint64]:
    """The first `count` elements of an array of u64s, summed over the CPUs if it is per CPU:
    [element, word]. One system call, but on kernels before 5.13 one for each element."""
    keys, values = bytearray(4 * count), bytearray(counters.element_size * count)
    cursor = libbpf.buffer_type(8)()
    result, done = libbpf.lookup_batch(counters.fileno(), None, cursor, keys, values, count)
    if result == -ENOTSUPP:  # no batches of per-CPU arrays
        keys_of = (number.to_bytes(4, "little") for number in range(count))
        values = bytearray().join(counters.lookup(key) or b"" for key in keys_of)
        result, done = 0, count
    if result not in (0, _ENOENT):
        raise BpfError(f"read map `{counters.name}`", -result)
    words = counters.spec.stride // 8
    found = np.frombuffer(values, dtype="<u8").reshape(count, -1, words)
    total: npt.NDArray[np.uint64] = found[:done].sum(axis=1, dtype=np.uint64)
    return total
