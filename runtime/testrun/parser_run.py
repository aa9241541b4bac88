"""Runs the generated parser on packets of a capture, by BPF_PROG_TEST_RUN."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack

from ...lang.contract.world.environment import Environment, Port
from ..loading.bundle import Bundle
from .kernel_backend import KernelBackend
from .private_run import PrivateRun

_PORT = 1


class ParserRun:
    """Decoding programs (`compiler/decoding/program.py`) in the kernel, of this process alone.
    Close it."""

    shortest, longest = KernelBackend.shortest, KernelBackend.longest

    def __init__(self, bundles: Iterable[Bundle], role: str) -> None:
        """For packets that arrive on ports of `role`. Raises `Refused`."""
        port = Port(_PORT, "capture", role, ifindex=1, mtu=1500, mac=bytes(6))
        self._owned = ExitStack()
        self._runs: list[tuple[PrivateRun, memoryview]] = []
        with ExitStack() as loading:
            for bundle in bundles:
                run = loading.enter_context(PrivateRun(bundle))
                run.set_environment(Environment((port,)))
                words = run.maps["decode_probe"].mmap().cast("Q")
                loading.callback(words.release)
                self._runs.append((run, words))
            self._owned = loading.pop_all()

    def parse(self, frame: bytes) -> tuple[list[int], str]:
        """The words that the programs left (lower/tell.py), and why the frame is malformed, or
        "tiny_fragment" of one (empty if neither). Raises BpfError."""
        merged: list[int] = []
        reason = ""
        for run, words in self._runs:
            words.cast("B")[:] = bytes(words.nbytes)
            outcome = run.run(frame, _PORT)
            reason = next((what for group, what in outcome.events if group == "malformed"), "")
            if ("hook", "tiny_fragment") in outcome.events:
                reason = "tiny_fragment"
            merged = (
                [a | b for a, b in zip(merged, words, strict=True)] if merged else words.tolist()
            )
        return merged, reason

    def close(self) -> None:
        """May be called again."""
        self._owned.close()

    def __enter__(self) -> ParserRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
