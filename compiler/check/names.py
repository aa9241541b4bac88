"""Words that mean something wherever a node, a rule or a port could be named."""

from __future__ import annotations

RESERVED = {
    "start": "where packets start",
    "l4": "the TCP or UDP header",
    "port": "the port a packet came in by",
    "given": "a value that `find` gives",
    "local": "the host",
    "fragment": "a fragment",
    "multicast": "a group of receivers",
    "_": "everything else",
    "hash": "a function",
}
