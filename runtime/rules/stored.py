"""What cells and entries of keys hold, as numbers: see the manifest."""

from __future__ import annotations

import struct

import numpy as np

SLOT = 0xFFFFFF
EPOCHS = 1 << 16
#: Bits of cell 0 above those of an epoch's cell and `crowded`: of the index that is in use by how
#: many bits a hash is shifted, and log2 of the first bucket's number.
INDEX_SHIFT, INDEX_FIRST, INDEX_BITS = 49, 55, 0x3F
#: Cell, priority, rank: the value of a kernel hash of keys.
ENTRY = struct.Struct("<IIQ")
ENTRIES = np.dtype([("cell", "<u4"), ("priority", "<u4"), ("rank", "<u8")])
