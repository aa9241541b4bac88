"""Pushes and appends: noted in the `Shape` where they stand, written at the verdict."""

from __future__ import annotations

from dataclasses import replace

from ..headers.outline import cut_behind, pushed
from ..ir import edits
from ..ir.values import Value
from . import trace
from .context import EditContext
from .header_out import HeaderOut
from .ip import VERSIONS, version_of
from .padding import padded
from .shape import Appended, Shape, writable


def push(site: EditContext, statement: edits.Push) -> Shape:
    """The bytes are written at the verdict."""
    following = [h.node for h in statement.headers[1:]] + [statement.before]
    out = []
    for header, after in zip(statement.headers, following, strict=True):
        made = _header_out(site, header, after)
        version = VERSIONS.get(made.header.protocol)
        given = made.given
        if version and not version.parts & given.keys():
            ecn = _ecn_behind(site, statement)
            given |= {"ecn": site.captured(ecn, "ecn")} if ecn else {}
        out.append(made)
    trace.push(site, "push", out, statement.before)
    nodes = tuple(h.node for h in out)
    left = pushed(site.shape, nodes, statement.before, statement.behind)
    return replace(left, pushed=(*out, *site.shape.pushed))


def _ecn_behind(site: EditContext, statement: edits.Push) -> Value | None:
    """ECN of the IP header that a push goes around: the first that was pushed before, else that of
    the first header that came, if it is one."""
    for header in site.shape.pushed:
        if header.header.protocol in VERSIONS:
            return header.part("ecn")
    came = site.shape.fronts[0] if site.shape.pushed else statement.before
    version = None if site.shape.behind or not came else version_of(site, came)
    return Value(version.ecn(site.node(came)), 2) if version else None


def append(site: EditContext, statement: edits.Append) -> Shape:
    following = [*(h.node for h in statement.headers[1:]), ""]
    headers = tuple(
        _header_out(site, header, after)
        for header, after in zip(statement.headers, following, strict=True)
    )
    trace.push(site, "append", headers, statement.behind)
    writes = writable(site.graph, statement.behind, headers[0].node).writes or ()
    appended = Appended(statement.behind, headers, writes)
    return replace(cut_behind(site.shape, statement.behind), appended=appended)


def _header_out(site: EditContext, new: edits.NewHeader, following: str) -> HeaderOut:
    """A header to be written in front of `following` ("": of nothing)."""
    header = site.header(new.node)
    writes = (writable(site.graph, new.node, following).writes or ()) if following else ()
    given = {each.field: each.value for each in new.given}
    out = HeaderOut(new.node, header, given, writes, new.computed, new.array)
    return padded(site.writer, out)
