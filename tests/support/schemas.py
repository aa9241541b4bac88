"""Manifests of small pipelines and of LINX, changed a little."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from helioc.compiler.driver import check_file, lower_pipeline
from helioc.compiler.manifest import manifest_of
from helioc.lang.contract.manifest.manifest import Manifest

LINX = (Path(__file__).parents[2] / "pipelines" / "linx.hp").read_text()
PORTS = {"LAN": 1, "WAN": 2}
# One kind of every way to match, with what it gives.
ONE = """import std.ethernet, std.ip
pipeline one {
  ports lan
  parser { ethernet -> ipv4 when type = 0x0800  ipv4 -> udp when protocol = 17 }
  ie host = 1, ip4
  ie tos = 2, TOS
  ie port = 3, u16
  ie way = 4, u8 { STOP = 1, GO = 2 }
  ie out = 5, port
  rule R [64] {
    match host MATCH ipv4.src
          tos ternary ipv4.tos
          port range l4.dst
    gives way, out
  }
  default drop
  stage only {
    if not udp { drop }
    find R else { default }
    match R.way { STOP => drop  GO => bridge R.out }
  }
  run parser -> only
}
"""


@cache
def manifest(text: str) -> Manifest:
    with TemporaryDirectory() as folder:
        (file := Path(folder) / "some.hp").write_text(text)
        pipeline = check_file(file)
    return manifest_of(pipeline, lower_pipeline(pipeline))


def one(match: str = "lpm", tos: str = "u8", *changes: tuple[str, str]) -> Manifest:
    text = ONE.replace("MATCH", match).replace("TOS", tos)
    for before, after in changes:
        assert before in text, before
        text = text.replace(before, after)
    return manifest(text)
