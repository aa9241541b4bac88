"""The generated parser on packets of a capture, by BPF_PROG_TEST_RUN."""

from __future__ import annotations

from ..compiler.interpreter.environment import Environment, Port
from .bundle import Bundle
from .testrun import KernelBackend, PrivateRun

_PORT = 1


class ParserRun:
    """A decoding program (`compiler/decoding/program.py`) in the kernel, of this process alone.
    Close it."""

    shortest, longest = KernelBackend.shortest, KernelBackend.longest

    def __init__(self, bundle: Bundle, role: str) -> None:
        """For packets that arrive on ports of `role`. Raises `Refused`."""
        self._run = PrivateRun(bundle)
        port = Port(_PORT, "capture", role, ifindex=1, mtu=1500, mac=bytes(6))
        self._run.set_environment(Environment((port,)))
        self._words = self._run.maps["told"].mmap().cast("Q")
        self._nothing = bytes(self._words.nbytes)

    def parse(self, frame: bytes) -> tuple[list[int], str]:
        """The words that the program left (`lowering/tell.py`), and why the frame is malformed
        (empty if it is not). Raises BpfError."""
        self._words.cast("B")[:] = self._nothing
        outcome = self._run.run(frame, _PORT)
        reason = next((reason for group, reason in outcome.events if group == "malformed"), "")
        return self._words.tolist(), reason

    def close(self) -> None:
        """May be called again."""
        self._words.release()
        self._run.close()

    def __enter__(self) -> ParserRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
