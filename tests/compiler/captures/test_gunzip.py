"""Captures that gzip packed: read as they are unpacked, in little memory, also where damaged."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zlib
from pathlib import Path

import pytest
from click.testing import CliRunner
from helioc.commands.helioc import cli
from helioc.compiler.captures.pcap import PcapWriter
from helioc.compiler.captures.reading import read_capture, read_packets
from helioc.lang.text.diagnostics import Refused
from hypothesis import given, settings
from hypothesis import strategies as st
from linx_world import PIPELINES

FRAMES = [bytes(12) + b"\x08\x06" + bytes([n]) * n for n in (46, 200, 120)]


def capture(frames: list[bytes]) -> bytes:
    file = io.BytesIO()
    writer = PcapWriter(file)
    for frame in frames:
        writer.write(frame, 0)
    return file.getvalue()


WHOLE = capture(FRAMES)
PACKED = gzip.compress(WHOLE, mtime=0)


def read(data: bytes) -> tuple[list[bytes], str, str]:
    """Frames that were read, and the code and title of what was refused then."""
    found = []
    try:
        for packet in read_packets("a.pcap", io.BytesIO(data)):
            found.append(packet.data)
    except Refused as refused:
        (diagnostic,) = refused.diagnostics
        return found, diagnostic.code, diagnostic.title
    return found, "", ""


@pytest.mark.parametrize("name", ["a.pcap.gz", "a.pcap"])
def test_what_the_file_is_called_does_not_matter(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(PACKED)
    assert [p.data for p in read_capture(tmp_path / name)] == FRAMES


def test_members_follow_each_other() -> None:
    parts = [WHOLE[:30], b"", WHOLE[30:100], WHOLE[100:]]
    assert read(b"".join(map(gzip.compress, parts))) == (FRAMES, "", "")


def test_standard_input() -> None:
    command = ["decode", str(PIPELINES / "linx.hp"), "-"]
    for data in (WHOLE, PACKED):
        done = CliRunner().invoke(cli, command, input=data)
        assert (done.exit_code, len(done.output.splitlines())) == (0, 3)
    done = CliRunner().invoke(cli, command, input=b"nonsense")
    assert isinstance(done.exception, Refused)
    assert "standard input is no capture" in done.exception.diagnostics[0].title


@pytest.mark.parametrize(
    ("inside", "code", "words"),
    [
        (b"", "H0801", "(unpacked) is no capture: it is empty"),
        (b"no capture", "H0801", "it begins with 6e 6f 20 63"),
        (b"\x28\xb5\x2f\xfd" + bytes(9), "H0802", "(unpacked) is compressed by zstd"),
        (PACKED, "H0802", "(unpacked) is compressed by gzip"),
        (WHOLE[:-1], "H0803", "(unpacked) ends within packet 3"),
    ],
    ids=["empty", "text", "zstd", "gzip", "short"],
)
def test_what_is_inside_is_no_capture(inside: bytes, code: str, words: str) -> None:
    _, said, title = read(gzip.compress(inside))
    assert said == code and words in title


def test_damage() -> None:
    cut = gzip.compress(capture([bytes(range(256)) * 4] * 300), mtime=0)
    found, code, title = read(cut[: len(cut) // 2])
    assert 0 < len(found) < 300 and code == "H0803"
    assert title.startswith("a.pcap ends within what gzip packed")
    found, code, title = read(PACKED[:-8] + bytes(8))
    assert (found, code) == (FRAMES[:2], "H0804") and "incorrect data check" in title
    found, code, _ = read(PACKED + b"more")
    assert (found, code) == (FRAMES, "H0804")


@settings(deadline=None, max_examples=200)
@given(st.integers(0, len(PACKED) - 1), st.integers(0, 255), st.integers(0, len(PACKED)))
def test_nothing_else_comes_of_damage(at: int, octet: int, end: int) -> None:
    data = bytearray(PACKED)
    data[at] = octet
    assert read(bytes(data[:end]))[1][:4] in ("", "H080")


class Bomb:
    """Zeros without end behind the beginning of a capture, packed."""

    def __init__(self, start: bytes) -> None:
        self._packer = zlib.compressobj(9, wbits=31)
        self._parts = [self._packer.compress(start)]
        self.read_so_far = 0

    def read(self, size: int, /) -> bytes:
        while sum(map(len, self._parts)) < size:
            self._parts.append(self._packer.compress(bytes(1 << 22)))
        data = b"".join(self._parts)
        self._parts = [data[size:]]
        self.read_so_far += size
        return data[:size]


@pytest.mark.parametrize("start", [WHOLE[:24], WHOLE, b"\n\r\r\n" + bytes(9), b"no capture"])
def test_a_bomb_takes_little_memory(start: bytes) -> None:
    """64 KiB of it unpack to 64 MiB; packets of it are all empty."""
    bomb = Bomb(start)
    tracemalloc.start()
    try:
        for packet in read_packets("bomb", bomb):
            if packet.number > 20_000:
                break
    except Refused as refused:
        assert refused.diagnostics[0].code in ("H0801", "H0804")
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert bomb.read_so_far <= 1 << 17
    assert peak < 24 << 20  # of which the bomb itself makes 4 MiB at a time
