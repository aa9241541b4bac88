"""A backup as a state directory that an older `heliod` starts with (docs/backup.md).

What that release does not know is left out where its absence changes no packet, and refused
otherwise. format1.py reads what is written here.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from ...lang.text.diagnostics import Diagnostic
from ..base.errors import refused
from .backup import Contents, Pipeline, Source
from .disk import why
from .files import sync_directory
from .ledger import KIND
from .records import decode
from .state import Build, read_build

#: The formats of older releases, and by which revisions they are known, too.
RELEASES = {"format1": "format1", "0924e90": "format1"}
#: The name of a map as it stands in an object's table of strings: ports by ifindex, which a later
#: `heliod` fills, and without which a program that looks there knows no port.
_PORT_SLOTS = b"\0port_slots\0"
_SCHEMA = """
CREATE TABLE about (format INTEGER NOT NULL);
CREATE TABLE pipelines (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, manifest TEXT NOT NULL, object BLOB NOT NULL,
  traced BLOB NOT NULL DEFAULT x'', config TEXT NOT NULL DEFAULT '', digest BLOB,
  revision INTEGER NOT NULL DEFAULT 0, number INTEGER NOT NULL DEFAULT 0);
CREATE TABLE answers (
  pipeline INTEGER NOT NULL, revision INTEGER NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL,
  answer BLOB NOT NULL, PRIMARY KEY (pipeline, revision)) WITHOUT ROWID;
CREATE TABLE prepared (
  pipeline INTEGER PRIMARY KEY, manifest TEXT NOT NULL, object BLOB NOT NULL, traced BLOB NOT NULL);
CREATE TABLE intents (
  serial INTEGER PRIMARY KEY AUTOINCREMENT, pipeline TEXT NOT NULL, id TEXT NOT NULL,
  name TEXT NOT NULL, text TEXT NOT NULL, begins REAL NOT NULL, ends REAL, state TEXT NOT NULL,
  rules TEXT NOT NULL, why TEXT NOT NULL, UNIQUE (pipeline, id));
INSERT INTO about VALUES (1);
"""


def write(parts: Iterable[bytes], directory: Path, release: str) -> Contents:
    """A directory that is not there yet, from a backup as it comes. Raises `Refused`, and then
    there is none."""
    assert RELEASES[release] == "format1"
    if directory.exists():
        raise refused(_no_place(directory, "it is there already"))
    new = directory.with_name(f"{directory.name}~")
    try:
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700)
        contents = _format1(Source(parts), new, release)
        sync_directory(new)
        new.rename(directory)
        sync_directory(directory.parent)
    except (OSError, sqlite3.Error) as error:
        shutil.rmtree(new, ignore_errors=True)
        said = why(error) if isinstance(error, OSError) else str(error)
        raise refused(_no_place(directory, said)) from None
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    return contents


def _format1(source: Source, directory: Path, release: str) -> Contents:
    path = directory / "journal.db"
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    with closing(sqlite3.connect(path)) as db:
        db.executescript(_SCHEMA)
        for number, pipeline in enumerate(source.contents.pipelines, 1):
            _pipeline(source, directory, db, number, pipeline, release)
        if source.contents.intents is not None:
            said = b"".join(source.file(source.contents.intents))
            try:
                _intents(db, json.loads(said))
            except (ValueError, KeyError, TypeError) as error:
                raise source.nonsense("intents", error) from None
        source.end()
        db.commit()
    return source.contents


def _pipeline(
    source: Source, directory: Path, db: sqlite3.Connection, number: int, pipeline: Pipeline,
    release: str,
) -> None:  # fmt: skip
    build = older_build(pipeline.name, read_build(b"".join(source.file(pipeline.build))), release)
    _write(directory / f"rules-{number}-1", source.file(pipeline.snapshot))
    _write(directory / f"log-{number}-1", ())
    digest = bytes.fromhex(pipeline.snapshot.digest)
    values = number, pipeline.name, *build, older_config(pipeline.config), digest, pipeline.revision
    db.execute("INSERT INTO pipelines VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)", values)
    for mark, _ in pipeline.answers:
        for entry, _ in decode(b"".join(source.file(mark))):
            answer = number, entry.revision, entry.key, entry.digest, entry.answer
            db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", answer)


def _write(path: Path, parts: Iterable[bytes]) -> None:
    with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600), "wb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())


def _intents(db: sqlite3.Connection, kept: Any) -> None:
    names = "pipeline", "id", "name", "text", "begins", "ends", "state", "rules", "why"
    for serial, text in kept["texts"].items():
        about = json.loads(text)
        if KIND in about:  # what the older release does not know
            continue
        about["rules"] = json.dumps(about["rules"])
        db.execute(
            "INSERT INTO intents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (int(serial), *(about[name] for name in names)),
        )
    db.execute("DELETE FROM sqlite_sequence")
    db.execute("INSERT INTO sqlite_sequence VALUES ('intents', ?)", (kept["last"],))


def older_build(name: str, build: Build, release: str) -> Build:
    """Without what only warnings are made of. Raises `Refused` where the older `heliod` would not
    know how to drive the programs."""
    manifest, object_, traced, *tc = build
    about = json.loads(manifest)
    if _PORT_SLOTS in object_:
        raise refused(_newer_bundle(name, release, "looks up ports in `port_slots`"))
    if tc:
        raise refused(_newer_bundle(name, release, "has programs for tc"))
    for offload in _offloads(about):
        if offload.get("way") == "masked":
            raise refused(_newer_bundle(name, release, "keeps masked rules on a card"))
    about.pop("answers", None)
    for element in about.get("elements", ()):
        element.pop("reserved", None)
    for kind in about.get("rules", ()):
        for match in kind["match"]:
            match.pop("roles", None)
    return json.dumps(about, indent=1), object_, traced


def _offloads(about: Any) -> Iterator[Any]:
    yield from (kind["offload"] for kind in about.get("rules", ()) if kind.get("offload"))


def older_config(config: str) -> str:
    about = json.loads(config)
    for name in ("backlog", "backlog_calm"):
        if about.get("congestion"):
            about["congestion"].pop(name, None)
    return json.dumps(about)


# ---- errors ---------------------------------------------------------------------------------


def _no_place(directory: Path, why: str) -> Diagnostic:
    return Diagnostic("H0864", f"`{directory}` cannot be written: {why}", (),
                      "name a directory that is not there yet")  # fmt: skip


def _newer_bundle(name: str, release: str, why: str) -> Diagnostic:
    release = "0924e90 or before" if release == "format1" else release
    title = f"`heliod` of {release} cannot drive the bundle of `{name}`: it {why}"
    help_ = (f"compile the pipeline by the `helioc` of {release}, `helioctl --name {name} upgrade` "
             "to that, and take the backup again")  # fmt: skip
    return Diagnostic("H0865", title, (), help_)
