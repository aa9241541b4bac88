"""What editors are answered: on the pipelines that ship, and by names that stand in many places."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from helioc.compiler.check.resolve import PIPELINES
from helioc.compiler.editor.answers import Document, hover, replaced
from helioc.compiler.editor.symbols import Symbol
from helioc.lang.syntax.lexer import lex
from helioc.lang.text.source import Source

SHIPPED = sorted(PIPELINES.rglob("*.hp"))

TEXT = """import std.ethernet, std.ip

/// What is ours.
const OURS = 10.0.0.0/8

const LEAST = 5

/// A note in front of a packet.
header note {
  kind  : u8
  class : u8 = 0
  accept kind < LEAST
}

pipeline p {
  ports lan, wan

  parser {
    ethernet -> ipv4 as user  when type = 0x0800  on lan
    user     -> udp           when protocol = 17
    ethernet -> note          when type = 0x88b5
    note     -> user          when kind = 1
  }

  /// What is done.
  ie action = 1, u8 { KEEP = 1, LOSE = 2 }
  ie src    = 2, ip4

  rule PDR [16] {
    match src exact user.src
    gives action
  }

  state SEEN [16] {
    match from : ip4
    gives many : u32
  }

  action done(PDR) {
    match PDR.action { KEEP => {}  LOSE => drop }
  }

  stage first {
    if not user { pass }
    let from = user.src
    find PDR else { drop }
    done(PDR)
    recall SEEN(from = from) else { drop }
    if SEEN.many > 3 and port is lan and frame.length > LEAST { drop }
  }

  stage second {
    if from in OURS { user.ttl = 3 }
    pass
  }

  run parser -> first -> second
}
"""


def opened(text: str = TEXT, path: Path = Path("/p.hp")) -> Document:
    document = Document(path)
    document.change(text)
    return document


def at(document: Document, before: str, word: str) -> Symbol:
    """What `word` stands for behind the first `before`."""
    offset = document.text.index(word, document.text.index(before))
    use = document.index.at(offset + 1)
    assert use is not None, (before, word)
    assert use.span.text == word
    return use.symbol


#: Of `tc.ingress` and `tc.egress`, which are no names.
AT_TC = ("ingress", "egress")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_names_of_what_ships_are_known(path: Path) -> None:
    """Behind a dot, and wherever a declared name stands alone."""
    document = opened(path.read_text(), path)
    assert not [d for d in document.diagnostics(False) if d.severity == "error"]
    assert document.formatted() == path.read_text()
    used = {use.span.start for use in document.index.uses}
    tokens = lex(Source("t.hp", document.text)).tokens
    for before, token in pairwise(tokens):
        if before.kind == "." and token.kind == "IDENT" and tokens[0] is not before:
            known = "import" in _line(document.text, token.start) or token.text in AT_TC
            assert known or token.start in used


def _line(text: str, offset: int) -> str:
    return text[text.rfind("\n", 0, offset) + 1 : text.find("\n", offset)]


@pytest.mark.parametrize(
    ("before", "word", "kind", "shown"),
    [
        ("if not", "user", "node", "user  when type = 0x0800"),
        ("match src", "user", "node", "header ipv4"),
        ("= user.", "src", "field", "src"),
        ("accept", "kind", "field", "kind  : u8"),
        ("note     -> user          when", "kind", "field", "kind  : u8"),
        ("in OU", "OURS", "constant", "const OURS = 10.0.0.0/8"),
        ("done(PDR)\n", "done", "action", "action done(PDR)"),
        ("match PDR.", "action", "element", "ie action = 1, u8"),
        ("{}  ", "LOSE", "symbol", "LOSE = 2"),
        ("SEEN(", "from", "slot", "from : ip4"),
        ("(from = ", "from", "value", "let from = user.src"),
        ("stage second {\n    if ", "from", "value", "let from = user.src"),
        ("if SEEN.", "many", "slot", "many : u32"),
        ("port is ", "lan", "role", "ports lan"),
        ("parser -> ", "first", "stage", "stage first"),
    ],
)
def test_what_a_name_stands_for(before: str, word: str, kind: str, shown: str) -> None:
    document = opened()
    offset = document.text.index(before)
    found = document.text.index(word, offset + (len(before) if before[-1] in " .(" else 0))
    use = document.index.at(found + 1)
    assert use is not None and (use.symbol.kind, use.symbol.name) == (kind, word)
    assert shown in use.symbol.shown


RAISING = TEXT.replace("gives action\n", """gives action, quota
    counts bytes
    emit USED { pdr = PDR, from = PDR.src } after quota bytes
    emit USED { pdr = PDR, from = PDR.src } each LEAST bytes
""").replace("  rule PDR", """  ie quota = 3, u32
  event USED { pdr : PDR, from : ip4 }
  rule PDR""")  # fmt: skip


@pytest.mark.parametrize(
    ("before", "word", "kind"),
    [
        ("emit USED", "USED", "event"),
        ("emit USED", "from", "slot"),
        ("= PDR,", "PDR", "rule"),
        ("= PDR.src", "src", "element"),
        ("after quota", "quota", "element"),
        ("each LEAST", "LEAST", "constant"),
    ],
)
def test_events_of_rules(before: str, word: str, kind: str) -> None:
    document = opened(RAISING)
    assert not [d for d in document.diagnostics(False) if d.severity == "error"]
    assert at(document, before, word).kind == kind


def test_doc_comments_are_shown() -> None:
    assert hover(at(opened(), "in OU", "OURS")).endswith("\n\nWhat is ours.")
    assert "The TTL" not in hover(at(opened(), "user.ttl", "ttl"))


def test_members_behind_a_dot() -> None:
    document = opened(TEXT.replace("SEEN.many > 3", "SEEN.many > 3 and PDR."))  # not parsed
    document = opened()
    document.change(TEXT.replace("SEEN.many > 3", "SEEN.many > 3 and PDR."))
    offset = document.text.index("PDR. ") + 4
    assert [s.name for s in document.completions(offset) if isinstance(s, Symbol)] == [
        "src", "action", "id",
    ]  # fmt: skip
    offset = document.text.index("user.ttl") + 5
    fields = {s.name for s in document.completions(offset) if isinstance(s, Symbol)}
    assert {"src", "ttl", "dscp", "checksum"} <= fields
    everything = document.completions(document.text.index("    pass\n  }"))
    names = {s.name if isinstance(s, Symbol) else s for s in everything}
    assert {"user", "PDR", "SEEN", "OURS", "from", "done", "find", "let"} <= names


@pytest.mark.parametrize(
    ("before", "word", "name", "places"),
    [
        ("as user", "user", "carried", 7),
        ("ports ", "lan", "inside", 3),
        ("const ", "OURS", "MINE", 2),
        ("rule ", "PDR", "RULES", 5),
        ("let ", "from", "source", 3),
        ("kind  :", "kind", "sort", 3),
        ("ie action", "action", "deed", 3),
        ("KEEP = 1, ", "LOSE", "DROP", 2),
        ("stage ", "first", "begin", 2),
        ("gives many", "many", "count_", 2),
    ],
)
def test_a_new_name_everywhere(before: str, word: str, name: str, places: int) -> None:
    document = opened()
    offset = document.text.index(word, document.text.index(before))
    spans = document.renamed(offset, name)
    assert not isinstance(spans, str), spans
    assert len(spans) == places
    text = replaced(TEXT, spans, name)
    assert not [d for d in opened(text).diagnostics(True) if d.severity == "error"]
    assert len(re.findall(rf"\b{name}\b", text)) >= places


KEPT = """import std.ethernet, std.ip

pipeline kept {
  ports lan
  parser { ethernet -> ipv4 when type = 0x0800 }
  ie address = 1, ip4
  rule SERVER [16] { match address exact ipv4.dst }

  state FLOW [16] {
    match src : ip4
    gives server : SERVER
  }

  stage first {
    if not ipv4 { pass }
    if recall FLOW(src = ipv4.src) {
      find SERVER from FLOW.server else { drop }
      send back
    }
    find SERVER else { pass }
    remember FLOW(src = ipv4.src, server = SERVER)
    send back
  }

  run parser -> first
}
"""


@pytest.mark.parametrize(
    ("before", "word", "name", "places"),
    [
        ("rule ", "SERVER", "HOST", 5),
        ("find ", "SERVER", "HOST", 5),
        ("gives server : ", "SERVER", "HOST", 5),
        ("gives ", "server", "held", 3),
        ("FLOW.", "server", "held", 3),
        ("from ", "FLOW", "CONNECTION", 4),
    ],
)
def test_a_new_name_for_what_entries_keep(before: str, word: str, name: str, places: int) -> None:
    document = opened(KEPT)
    spans = document.renamed(document.text.index(word, document.text.index(before)), name)
    assert not isinstance(spans, str), spans
    assert len(spans) == places
    text = replaced(KEPT, spans, name)
    assert not [d for d in opened(text).diagnostics(True) if d.severity == "error"]


CHAIN = """import std.ethernet, std.ip, std.ipv6

const FRAGMENT = 44

pipeline p {
  ports lan
  parser {
    ethernet  -> ipv6 as user  when type = 0x86dd
    chain extension by next_header max 8 {
      ipv6_destination
      ipv6_fragment as part when FRAGMENT
    }
    user      -> extension
    extension -> udp           when next_header = 17
  }
  stage first {
    if part { if part.fragment_offset > 0 { drop } }
    if ipv6_destination and extension.next_header = FRAGMENT { drop }
    pass
  }
  run parser -> first
}
""".replace("ipv6_destination\n", "ipv6_destination      when 60\n")


@pytest.mark.parametrize(
    ("before", "word", "name", "places"),
    [
        ("chain ", "extension", "options", 4),
        ("as part", "part", "piece", 3),
        ("const ", "FRAGMENT", "PIECE", 3),
    ],
)
def test_a_new_name_in_a_chain(before: str, word: str, name: str, places: int) -> None:
    document = opened(CHAIN)
    spans = document.renamed(document.text.index(word, document.text.index(before)), name)
    assert not isinstance(spans, str), spans
    assert len(spans) == places
    text = replaced(CHAIN, spans, name)
    assert not [d for d in opened(text).diagnostics(True) if d.severity == "error"]


def test_what_stands_in_a_chain() -> None:
    document = opened(CHAIN)
    assert at(document, "if part {", "part").shown.startswith("ipv6_fragment as part when")
    assert at(document, "and extension", "next_header").kind == "field"
    assert at(document, "chain", "next_header").kind == "field"
    offset = document.text.index("extension.next_header") + len("extension.")
    fields = [s.name for s in document.completions(offset) if isinstance(s, Symbol)]
    assert fields == ["next_header"]


OPTIONS = """import std.ethernet, std.ip

const ALERT = 148

header mark {
  words   : u8
  options : tlv(kind : u8, length : u8, bare 0, size length + 2) within words * 4 max 8 {
    origin when kind = 7 | ALERT { node : u32  port : u16  chars : u8  site : name[chars] }
  }
}

pipeline p {
  ports lan
  parser {
    ethernet -> ipv4 when type = 0x0800
    ipv4     -> tcp  when protocol = 6
    ethernet -> mark when type = 0x88b5 if it fits
  }
  rule R [16] { match node exact mark.origin.node }
  ie node = 1, u32
  stage first {
    if mark { if mark.origin and mark.origin.length = 6 { count here } }
    if tcp.mss { if tcp.mss.value > 1360 { tcp.mss.value = 1360 } }
    find R else { drop }
    pass
  }
  run parser -> first
}
"""


@pytest.mark.parametrize(
    ("before", "word", "name", "places"),
    [
        ("max 8", "origin", "source", 4),
        ("148 {", "port", "from_port", 1),
        ("const ", "ALERT", "LARM", 2),
        ("148 {", "node", "from_node", 2),
        ("148 {", "chars", "bytes", 2),
    ],
)
def test_a_new_name_in_options(before: str, word: str, name: str, places: int) -> None:
    document = opened(OPTIONS)
    spans = document.renamed(
        document.text.index(word, document.text.index(before.replace("148", "ALERT"))), name
    )
    assert not isinstance(spans, str), spans
    assert len(spans) == places
    text = replaced(OPTIONS, spans, name)
    assert not [d for d in opened(text).diagnostics(True) if d.severity == "error"]


def test_what_stands_in_options() -> None:
    document = opened(OPTIONS)
    assert at(document, "if tcp.mss", "mss").shown.startswith("mss            when kind = 2")
    offset = document.text.index("tcp.mss.value") + len("tcp.mss.")
    fields = [s.name for s in document.completions(offset) if isinstance(s, Symbol)]
    assert fields == ["kind", "length", "value"]
    offset = document.text.index("mark.origin.length") + len("mark.")
    fields = [s.name for s in document.completions(offset) if isinstance(s, Symbol)]
    assert fields == ["words", "options", "origin"]


@pytest.mark.parametrize(
    ("before", "word", "name", "why"),
    [
        ("as user", "user", "udp", "would be wrong"),
        ("as user", "user", "match", "cannot be a name"),
        ("as user", "user", "two words", "cannot be a name"),
        ("user.ttl", "ttl", "hops", "declared in std/ip.hp"),
        ("import", "std", "x", "no name here"),
        ("let ", "from", "PDR", "would be wrong"),
        ("const L", "LEAST", "kind", "would be wrong"),
        ("-> udp", "udp", "frame", "would be wrong"),
    ],
)
def test_names_that_cannot_be(before: str, word: str, name: str, why: str) -> None:
    document = opened()
    said = document.renamed(document.text.index(word, document.text.index(before)), name)
    assert isinstance(said, str) and why in said


def test_nothing_is_renamed_in_a_text_that_cannot_be_parsed() -> None:
    document = opened()
    document.change(
        TEXT.replace("run parser -> first -> second", "run parser ->").replace("pipe", " pipe")
    )
    said = document.renamed(document.text.index("LEAST"), "MOST")
    assert said == "the text cannot be parsed" and document.at(20) is None


def test_constants_where_numbers_stand(tmp_path: Path) -> None:
    (tmp_path / "sizes.hp").write_text("/// How many.\nconst MANY = 16\n")
    text = "import sizes\n" + TEXT.replace("[16]", "[MANY]")
    document = opened(text, tmp_path / "p.hp")
    assert not [d for d in document.diagnostics(True) if d.severity == "error"]
    symbol = at(document, "rule PDR [", "MANY")
    assert len(document.index.of(symbol)) == 2 and "How many." in hover(symbol)
    capacity = TEXT.replace("const LEAST = 5", "const LEAST = 5\nconst SIZE = 16").replace(
        "[16]", "[SIZE]"
    )
    spans = opened(capacity).renamed(capacity.index("SIZE"), "ROOM")
    assert not isinstance(spans, str) and len(spans) == 3


def test_a_file_of_headers() -> None:
    good = "header note { kind : u8 }\n"
    assert opened(good).diagnostics(True) == []
    assert [d.code for d in opened("header note { kind : u65 }\n").diagnostics(True)] == ["H0230"]
