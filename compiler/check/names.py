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

#: And those that mean something wherever a value could stand: no constant and no `let` has them.
WORDS = RESERVED | {
    "header": "a part of a packet",
    "payload": "a part of a packet",
    "pseudo": "a part of a packet",
    "computed": "a checksum that is computed",
    "rest": "what is left of a header",
    "error": "the ICMP error that may be sent",
    "frame": "the frame as it came",
}
