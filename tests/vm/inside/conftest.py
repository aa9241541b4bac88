"""What runs inside the virtual machine: see ../test_kernels.py."""

from __future__ import annotations

import os

if "HELIO_VM" not in os.environ:
    collect_ignore_glob = ["test_*.py"]
