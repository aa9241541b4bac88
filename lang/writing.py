"""Files written whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from .diagnostics import Refused
from .ending import cannot_write


def write_files(files: Mapping[Path, bytes]) -> None:
    """Write these files; where one cannot be, all are as they were. Raises `Refused` (H0309)."""
    beside: list[tuple[Path, Path]] = []
    path = Path()
    try:
        for path, content in files.items():
            home = path.resolve()  # a link goes on leading to it
            if home.exists() and not home.is_file():
                home.write_bytes(content)  # a device, a pipe: nothing to keep whole
                continue
            beside.append((home.with_name(f"{home.name}~{os.getpid()}"), home))
            beside[-1][0].write_bytes(content)
            if home.exists():
                shutil.copymode(home, beside[-1][0])
        for new, path in beside:
            new.replace(path)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise Refused([cannot_write(str(path), why)]) from None
    finally:
        for new, _ in beside:
            with suppress(OSError):
                new.unlink()
