"""What cells and entries of keys hold, as numbers: see the manifest."""

from __future__ import annotations

import struct

import numpy as np

SLOT = 0xFFFFFF
EPOCHS = 1 << 16
#: Cell, priority, rank: the value of a kernel hash of keys.
ENTRY = struct.Struct("<IIQ")
ENTRIES = np.dtype([("cell", "<u4"), ("priority", "<u4"), ("rank", "<u8")])
