"""A network laboratory: namespaces, wires between them, and processes and raw frames inside.

    with Lab("demo-") as lab:
        lan, edge = lab.namespace("lan"), lab.namespace("edge")
        lab.wire(lan, "eth0", edge, "lan0")
        lan.address("eth0", "10.0.0.1/24")
        edge.address("lan0", "10.0.0.2/24")
        lan.run("ping", "-c", "1", "10.0.0.2")

Leaving the block, also by an exception or Ctrl-C, ends every process and removes every namespace,
and with those the devices, addresses and attached programs. Examples and tests share this module;
both put its folder on their path.
"""

from __future__ import annotations

import array
import ctypes
import fcntl
import os
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

NETNS = Path("/run/netns")
PATIENCE = 10.0  # seconds that a machine under load may take for something that is due at once

_CLONE_NEWNET = 0x40000000
_Result = TypeVar("_Result")


class LabError(Exception):
    """A command of the laboratory failed; the message is the command and what it said."""


def command(*words: str, timeout: float | None = 60) -> str:
    """Run a command to its end and return its standard output. Raises LabError when it fails."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout
        )
    except FileNotFoundError as missing:
        raise LabError(f"{words[0]}: not installed") from missing
    except subprocess.TimeoutExpired as late:
        raise LabError(f"{' '.join(words)}: still running after {timeout} s") from late
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()) or "no message"
        raise LabError(f"{' '.join(words)}: exit {done.returncode}: {said}")
    return done.stdout


def until(holds: Callable[[], _Result], what: str, seconds: float = PATIENCE) -> _Result:
    """Ask `holds` again and again until it says something true. Raises LabError if never."""
    deadline = time.monotonic() + seconds
    while not (result := holds()):
        if time.monotonic() > deadline:
            raise LabError(f"{what}: not so after {seconds:g} s")
        select.select([], [], [], 0.005)
    return result


class Background:
    """A process with a process group of its own, ended by `stop` or with the laboratory."""

    def __init__(
        self, words: tuple[str, ...], popen: type[subprocess.Popen[bytes]] = subprocess.Popen
    ) -> None:
        self.words = words
        self.output = ""
        self._stopped = False
        self._process = popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    @property
    def unread(self) -> int:
        """Bytes of output that were not read; a pipe holds 64 KiB."""
        assert self._process.stdout is not None
        size = array.array("i", [0])
        fcntl.ioctl(self._process.stdout, termios.FIONREAD, size)
        return size[0]

    def expect(self, text: str, seconds: float = PATIENCE) -> str:
        """Read until the output has `text`; returns it all. Raises LabError if not."""
        deadline = time.monotonic() + seconds
        while text not in self.output:
            chunk = self._read(max(0.0, deadline - time.monotonic()))
            if chunk is None:
                raise LabError(f"{' '.join(self.words)}: no {text!r} in its output: {self.output}")
            self.output += chunk
        return self.output

    def wait(self, seconds: float = 60) -> str:
        """Wait for the process to end by itself; returns its output. Raises LabError if not."""
        deadline = time.monotonic() + seconds
        while (chunk := self._read(max(0.0, deadline - time.monotonic()))) is not None:
            self.output += chunk
        try:
            code = self._process.wait(max(0.01, deadline - time.monotonic()))
        except subprocess.TimeoutExpired as late:
            raise LabError(f"{' '.join(self.words)}: still running after {seconds:g} s") from late
        if code:
            raise LabError(f"{' '.join(self.words)}: exit {code}: {self.output.strip()}")
        return self.output

    def stop(self, signal_number: int = signal.SIGTERM) -> str:
        """End the process and what it started; returns its output. May be called again."""
        if self._stopped:
            return self.output
        self._stopped = True
        self._signal(signal_number)
        try:
            rest, _ = self._process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            rest, _ = self._process.communicate()
        self._signal(signal.SIGKILL)  # whatever it left behind in its group
        self.output += rest.decode(errors="replace")
        return self.output

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def _read(self, seconds: float) -> str | None:
        """What the process said next; None at its end or when it says nothing for so long."""
        if self._stopped or self._process.stdout is None:
            return None
        if not select.select([self._process.stdout], [], [], seconds)[0]:
            return None
        chunk = os.read(self._process.stdout.fileno(), 65536)
        return chunk.decode(errors="replace") or None


class Wire:
    """Raw frames on one device, as bytes that begin with the Ethernet header."""

    def __init__(self, raw: socket.socket) -> None:
        self._socket = raw

    def send(self, frame: bytes) -> None:
        self._socket.send(frame)

    def receive(self, seconds: float = PATIENCE) -> bytes | None:
        """The next frame that came in from outside, at most 64 KiB; None if none comes in time."""
        deadline = time.monotonic() + seconds
        while True:
            self._socket.settimeout(max(1e-6, deadline - time.monotonic()))
            try:
                frame, auxiliary, _, origin = self._socket.recvmsg(65536, 64)
            except (TimeoutError, BlockingIOError):
                return None
            if origin[2] != socket.PACKET_OUTGOING:
                return _with_tag(frame, auxiliary)

    def expect(self, matches: Callable[[bytes], bool], seconds: float = PATIENCE) -> bytes:
        """The next frame that `matches`, others passed over. Raises LabError if none comes."""
        deadline = time.monotonic() + seconds
        while (frame := self.receive(max(0.0, deadline - time.monotonic()))) is not None:
            if matches(frame):
                return frame
        raise LabError(f"no such frame on {self._socket.getsockname()[0]} within {seconds:g} s")

    def close(self) -> None:
        self._socket.close()


class Namespace:
    """One network namespace, made by `Lab.namespace`; `name` is what `ip netns` calls it."""

    def __init__(self, name: str, stack: ExitStack) -> None:
        self.name = name
        self.path = NETNS / name
        self._stack = stack

    def inside(self, *words: str) -> tuple[str, ...]:
        """The command that runs `words` in here. `ip netns exec` would hide /sys/fs/bpf."""
        return ("nsenter", f"--net={self.path}", *words)

    def run(self, *words: str, timeout: float | None = 60) -> str:
        """Run a command in here to its end; returns its output. Raises LabError when it fails."""
        return command(*self.inside(*words), timeout=timeout)

    def start(self, *words: str) -> Background:
        """Start a process in here that ends with the laboratory at the latest."""
        process = Background(self.inside(*words))
        self._stack.callback(process.stop)
        return process

    def ip(self, *words: str) -> str:
        return command("ip", "-n", self.name, *words)

    def until_up(self, device: str) -> None:
        """Wait until a device has its carrier."""
        until(lambda: "LOWER_UP" in self.ip("link", "show", device), f"{self.name}: {device} up")

    def address(self, device: str, *addresses: str) -> None:
        """Add addresses with prefix lengths, as `10.0.0.1/24`; IPv6 ones are usable at once."""
        for address in addresses:
            if ":" in address:
                self.sysctl(f"net.ipv6.conf.{device}.disable_ipv6", 0)
                self.ip("address", "add", address, "dev", device, "nodad")
            else:
                self.ip("address", "add", address, "dev", device)

    def route(self, destination: str, via: str) -> None:
        family = "-6" if ":" in via else "-4"
        self.ip(family, "route", "add", destination, "via", via)

    def neighbour(self, device: str, address: str, mac: str) -> None:
        """A permanent neighbour entry, so that nothing has to be asked for."""
        self.ip("neighbour", "replace", address, "lladdr", mac, "dev", device, "nud", "permanent")

    def mac(self, device: str) -> str:
        return self.inside_thread(lambda: _interface_mac(device))

    def ifindex(self, device: str) -> int:
        return self.inside_thread(lambda: socket.if_nametoindex(device))

    def offload(self, device: str, **features: str) -> None:
        """Set device features by their `ethtool -K` names: offload("eth0", tx="off", gro="on")."""
        words = [word for feature in features.items() for word in feature]
        self.run("ethtool", "-K", device, *words)

    def sysctl(self, name: str, value: int | str) -> None:
        path = Path("/proc/sys", *name.split("."))
        self.inside_thread(lambda: path.write_text(f"{value}\n"))

    def wire(self, device: str) -> Wire:
        """Raw frames to and from a device in here, until the laboratory is left."""
        raw = self.inside_thread(lambda: _packet_socket(device))
        self._stack.callback(raw.close)
        return Wire(raw)

    def enter(self) -> None:
        """Move this thread in here, for good."""
        _enter(self.path)

    def inside_thread(self, action: Callable[[], _Result]) -> _Result:
        """Call `action` in a thread that is in this namespace; sockets it opens stay in here."""
        outcome: list[_Result] = []
        failure: list[BaseException] = []

        def body() -> None:
            try:
                _enter(self.path)
                outcome.append(action())
            except BaseException as error:
                failure.append(error)

        thread = threading.Thread(target=body, name=f"in {self.name}")
        thread.start()
        thread.join()
        if failure:
            raise failure[0]
        return outcome[0]


class Lab:
    """Everything made through one laboratory; leaving it takes all of that away again.

    Namespaces are called `prefix` + name. What an earlier run with this prefix left behind when it
    was killed is removed on entry, so a prefix belongs to one run at a time.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self._stack = ExitStack()

    def __enter__(self) -> Lab:
        for left in namespaces(self.prefix):
            remove_namespace(left)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: object
    ) -> None:
        with _undisturbed():
            self._stack.close()

    def namespace(self, name: str) -> Namespace:
        """A new namespace with its loopback up; IPv6 is off until an IPv6 address is added, so that
        nothing unrequested is sent in it."""
        full = self.prefix + name
        with _undisturbed():
            command("ip", "netns", "add", full)
            self._stack.callback(remove_namespace, full)
        made = Namespace(full, self._stack)
        made.sysctl("net.ipv6.conf.default.disable_ipv6", 1)
        made.ip("link", "set", "lo", "up")
        return made

    def wire(
        self, one: Namespace, device: str, other: Namespace, peer: str, *, mtu: int = 1500
    ) -> None:
        """A veth pair between two namespaces, both ends up, fit for XDP in either direction.

        Senders checksum in software, since a program that rewrites a packet would otherwise pass
        on checksums that are not filled in. GRO is on, since a frame that XDP redirects to a
        veth is lost without a word unless the veth's peer polls: by GRO or by a native program.
        """
        ends = ((one, device), (other, peer))
        one.ip("link", "add", device, "mtu", str(mtu), "type", "veth",
               "peer", "name", peer, "mtu", str(mtu), "netns", other.name)  # fmt: skip
        for room, end in ends:
            room.offload(end, tx="off", gro="on")
        # Only now: a veth finds out as it comes up whether its peer will take redirected frames.
        for room, end in ends:
            room.ip("link", "set", end, "up")
        for room, end in ends:
            room.until_up(end)


def namespaces(prefix: str) -> list[str]:
    """The names of all network namespaces that begin with `prefix`."""
    return sorted(path.name for path in NETNS.glob(f"{prefix}*")) if NETNS.is_dir() else []


def remove_namespace(name: str) -> None:
    """End the processes in a namespace and remove it; nothing happens if it is gone already."""
    with suppress(LabError):
        for pid in command("ip", "netns", "pids", name).split():
            if int(pid) != os.getpid():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
    if (NETNS / name).exists():
        command("ip", "netns", "delete", name)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold back Ctrl-C and SIGTERM, so that cleaning up runs to its end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _enter(path: Path) -> None:
    """Move this thread into a network namespace (os.setns came only with Python 3.12)."""
    with path.open("rb") as handle:
        if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), _CLONE_NEWNET):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(path))


def _interface_mac(device: str) -> str:
    with _packet_socket(device) as raw:
        return str(raw.getsockname()[4].hex(":"))


def _with_tag(frame: bytes, auxiliary: list[tuple[int, int, bytes]]) -> bytes:
    """The frame as it came: the kernel has taken an 802.1Q tag out of it and says so beside it, in
    a `struct tpacket_auxdata` (packet(7))."""
    for _, _, said in auxiliary:
        status, _, _, _, _, control, protocol = struct.unpack_from("=IIIHHHH", said)
        if status & 0x10:  # TP_STATUS_VLAN_VALID
            return frame[:12] + struct.pack("!HH", protocol or 0x8100, control) + frame[12:]
    return frame


def _packet_socket(device: str) -> socket.socket:
    every_protocol = 0x0003  # ETH_P_ALL
    receive_buffer_force, packet_level, auxiliary_data = 33, 263, 8
    # Bound before it listens, so that no frame of another device slips in.
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    try:
        # A small frame that XDP redirected counts as a whole page: the default would hold 50.
        raw.setsockopt(socket.SOL_SOCKET, receive_buffer_force, 16 << 20)
        raw.setsockopt(packet_level, auxiliary_data, 1)
        raw.bind((device, every_protocol))
    except OSError:
        raw.close()
        raise
    return raw
