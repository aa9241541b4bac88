"""`reports` in the edge's YAML: where the reports of a pipeline's intents are pushed to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from ...lang.text.diagnostics import Diagnostic, Label
from ...lang.text.source import Span
from . import errors
from .sections import Around, Section

if TYPE_CHECKING:  # `helioctl` starts without YAML
    from ...lang.text.yaml_reader import Entry

_KEYS = ("otlp", "period", "ca", "token_file")


@dataclass(frozen=True)
class Push:
    """`otlp`: the URL of a collector's OTLP/HTTP receiver. `period`: seconds from one report to the
    next. `ca`: a PEM file of the authorities that the collector's certificate may be from; empty:
    the system's. `token_file`: holds a bearer token, which is read for each report; empty: none."""

    otlp: str
    period: float = 10.0
    ca: str = ""
    token_file: str = ""


def endpoint(url: str) -> SplitResult | None:
    """A URL's parts; None of one that nothing can be posted to."""
    try:
        parts = urlsplit(url)
        port = parts.port  # raises ValueError where it is none
    except ValueError:
        return None
    plain = parts.username is None and parts.password is None and not parts.fragment
    known = parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0
    printable = url.isascii() and url.isprintable() and " " not in url
    return parts if plain and known and printable else None


def _read(around: Around, entry: Entry) -> Push | None:
    nodes = around.nodes
    given = nodes.mapping(entry.value, "`reports`", _KEYS)
    from yaml import MappingNode  # only where a file is read: `helioctl` starts without

    if not isinstance(entry.value, MappingNode):
        return None
    if "otlp" not in given:
        example = "http://127.0.0.1:4318/v1/metrics"
        nodes.found.add(errors.missing_key(nodes.span(entry.value), "otlp", "`reports`", example))
        return None
    url = nodes.text(given["otlp"].value)
    if url is not None and endpoint(url) is None:
        nodes.found.add(_no_collector(nodes.span(given["otlp"].value), url))
    period = Push("").period
    if "period" in given:
        period = nodes.seconds(given["period"].value, 0.1, 3600.0) or period
    files = []
    for key in ("ca", "token_file"):
        path = nodes.text(given[key].value) if key in given else ""
        if path and not Path(path).is_absolute():
            nodes.found.add(_no_absolute_path(nodes.span(given[key].value), key, path))
        files.append(path or "")
    return Push(url or "", period, *files)


PUSH = Section("reports", Push, _read)


# ---- errors ---------------------------------------------------------------------------------


def _no_collector(where: Span, url: str) -> Diagnostic:
    return Diagnostic("H0621", f"reports cannot be sent to `{url}`",
                      (Label(where, "no URL of http or https with a host"),),
                      "say where the collector takes OTLP over HTTP: "
                      "https://collector.example.net:4318/v1/metrics")  # fmt: skip


def _no_absolute_path(where: Span, key: str, path: str) -> Diagnostic:
    return Diagnostic("H0621", f"`{key}` is no path from the root: `{path}`",
                      (Label(where, "where it is depends on who reads it"),),
                      f"write the whole path: /etc/helio/{path}")  # fmt: skip
