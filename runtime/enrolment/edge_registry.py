"""A controller's registry of edges: tokens, enrolled edges, what these announced.

An SQLite file, so that `token create` and a running controller may share it. Of a secret only the
SHA-256 is stored.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...lang.text.diagnostics import Diagnostic
from ..base.errors import refused
from . import errors
from .token import new_secret

_TABLES = """
create table if not exists tokens (
  secret text primary key, edge text not null, hosts text not null, expires real not null,
  key text
);
create table if not exists edges (
  name text primary key, key text not null, hosts text not null, announced text, heard real
);
create table if not exists removed (edge text primary key, ends real not null);
"""
#: Certificates that edges have; an empty one: any by the authority, of a release that did not note
#: them.
_GRANTED = """
create table granted (edge text not null, key text not null, certificate text not null,
  ends real not null);
"""
_EARLIER = "insert into granted select name, key, '', 9e999 from edges"


@dataclass(frozen=True)
class EnrolledEdge:
    """An edge that has enrolled. `announced`: see `announcement.py`; `heard`: when, in seconds of
    the Unix epoch."""

    name: str
    announced: dict[str, Any] | None
    heard: float | None

    @property
    def address(self) -> str:
        """Of its agent; empty if it said nothing yet."""
        return str(self.announced["address"]) if self.announced else ""


class EdgeRegistry:
    """May be used by several threads and processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._open() as database:
            database.executescript(_TABLES)
        with self._open() as database:
            database.execute("begin immediate")
            known = "select name from sqlite_master where name = 'granted'"
            if database.execute(known).fetchone() is None:
                database.execute(_GRANTED)
                database.execute(_EARLIER)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """One transaction."""
        with closing(sqlite3.connect(self._path, timeout=5)) as database, database:
            yield database

    # ---- tokens -----------------------------------------------------------------------------

    def create_token(self, edge: str, hosts: Sequence[str], lifetime: float) -> str:
        """The secret. `hosts`: names and addresses for its certificate; `lifetime`: seconds."""
        secret, now = new_secret(), time.time()
        with self._open() as database:
            database.execute("delete from tokens where expires < ?", (now - 7 * 86_400,))
            database.execute(
                "insert into tokens values (?, ?, ?, ?, null)",
                (_hashed(secret), edge, json.dumps(list(hosts)), now + lifetime),
            )
        return secret

    def redeem(self, edge: str, secret: str, key: str) -> list[str]:
        """Spend a token for a key (its hash), and know the edge by that from now on. The same key
        may come again. Returns the hosts. Raises `Refused`."""
        with self._open() as database:
            database.execute("begin immediate")
            found = database.execute(
                "select edge, hosts, expires, key from tokens where secret = ?", (_hashed(secret),)
            ).fetchone()
            if found is None or found[0] != edge:
                raise refused(errors.token_refused("there is none like it"))
            _, hosts, expires, spent = found
            if expires < time.time():
                raise refused(errors.token_refused("it has expired"))
            if spent not in (None, key):
                raise refused(errors.token_refused("it was used already, with another key"))
            database.execute("update tokens set key = ? where secret = ?", (key, _hashed(secret)))
            database.execute(
                "insert into edges (name, key, hosts) values (?, ?, ?) "
                "on conflict (name) do update set key = excluded.key, hosts = excluded.hosts",
                (edge, key, hosts),
            )
            database.execute("delete from granted where edge = ? and key != ?", (edge, key))
            database.execute("delete from removed where edge = ?", (edge,))
        return list(json.loads(hosts))

    # ---- edges ------------------------------------------------------------------------------

    def check(self, edge: str, key: str) -> list[str]:
        """That an edge has enrolled with this key; its hosts. Raises `Refused`."""
        with self._open() as database:
            found = database.execute(
                "select key, hosts from edges where name = ?", (edge,)
            ).fetchone()
        if found is None:
            raise refused(errors.not_an_edge(f"`{edge}` has not enrolled, or was removed"))
        if found[0] != key:
            raise refused(errors.not_an_edge(f"`{edge}` has enrolled with another key since"))
        return list(json.loads(found[1]))

    def grant(self, edge: str, key: str, certificate: bytes, ends: float) -> None:
        """Note a certificate (PEM) that the edge has from now on: good until `ends`, in seconds of
        the Unix epoch."""
        with self._open() as database:
            database.execute("begin immediate")
            database.execute(
                "delete from granted where edge = ? and (certificate = '' or ends < ?)",
                (edge, time.time()),
            )
            row = (edge, key, certificate.decode(), ends)
            database.execute("insert into granted values (?, ?, ?, ?)", row)

    def trusted(self, edge: str) -> bytes:
        """The certificates (PEM) by one of which an edge is to be known; nothing of one that has
        not enrolled here: any by our authority. Raises `Refused` of one that was removed."""
        now = time.time()
        with self._open() as database:
            known = database.execute("select key from edges where name = ?", (edge,)).fetchone()
            removed = database.execute(
                "select edge from removed where edge = ? and ends > ?", (edge, now)
            ).fetchone()
            found = database.execute(
                "select certificate from granted where edge = ? and ends > ?", (edge, now)
            ).fetchall()
        if removed is not None:
            raise refused(errors.removed(edge))
        if known is not None and not found:
            raise refused(_no_certificate(edge))
        return "".join(certificate for (certificate,) in found).encode()

    def announce(self, edge: str, content: dict[str, Any]) -> None:
        with self._open() as database:
            database.execute(
                "update edges set announced = ?, heard = ? where name = ?",
                (json.dumps(content), time.time(), edge),
            )

    def remove(self, edge: str) -> bool:
        """Forget an edge and its tokens, but not that nobody is to be taken for it while its
        certificates are good. Whether there was one."""
        with self._open() as database:
            database.execute("begin immediate")
            database.execute("delete from tokens where edge = ?", (edge,))
            database.execute(
                "insert or replace into removed "
                "select edge, max(ends) from granted where edge = ? group by edge", (edge,)
            )  # fmt: skip
            database.execute("delete from granted where edge = ?", (edge,))
            return database.execute("delete from edges where name = ?", (edge,)).rowcount > 0

    def edges(self) -> list[EnrolledEdge]:
        with self._open() as database:
            rows = database.execute("select name, announced, heard from edges order by name")
            return [
                EnrolledEdge(n, json.loads(content) if content else None, when)
                for n, content, when in rows
            ]


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


# ---- errors ---------------------------------------------------------------------------------


def _no_certificate(edge: str) -> Diagnostic:
    return Diagnostic("H0880", f"the edge `{edge}` has no certificate that is good", (),
                      "enrol it again, with `--replace`")  # fmt: skip
