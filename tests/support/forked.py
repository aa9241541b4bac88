"""`helioctl` in a fork of this process. Under an emulated kernel a command is otherwise three
seconds of imports, and a test has six."""

from __future__ import annotations

import os
import sys
from tempfile import TemporaryFile

import helioc.commands.target

# what the commands import when they run
import helioc.lang.contract.manifest.manifest_check
import helioc.lang.contract.request.request_antlr
import helioc.lang.text.atomic_write
import helioc.lang.text.exit_status
import helioc.runtime.base.files
import helioc.runtime.base.request_files
import helioc.runtime.edge.read_config
import helioc.runtime.loading.any_loaded
import helioc.runtime.loading.attach
import helioc.runtime.loading.card
import helioc.runtime.loading.card_reader
import helioc.runtime.loading.loader
import helioc.runtime.rules.report
import helioc.runtime.tracing.stale_traces  # noqa: F401
from edges import Edge
from helioc.commands.helioctl import main
from lab import LabError


def control(edge: Edge, *words: str) -> str:
    """As `Edge.control`."""
    said = ["helioctl", "--name", edge.name, *words]
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        child = os.fork()
        if not child:
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                edge.room.enter()
                os._exit(_run(said))
            finally:
                os._exit(70)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for file in (out, err):
            file.seek(0)
        if status:
            raise LabError(f"{' '.join(said)}: exit {status}: {err.read().strip()}")
        return out.read()


def _run(words: list[str]) -> int:
    """The exit status."""
    sys.stdout, sys.stderr = (os.fdopen(number, "w") for number in (1, 2))
    sys.argv = words
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
