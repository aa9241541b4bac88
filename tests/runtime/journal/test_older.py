"""Backups as state directories of an older release, as format1.py reads what that wrote."""

from __future__ import annotations

import json
import stat
from contextlib import closing
from pathlib import Path

import pytest
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.intents.store import Intent, IntentRule, IntentStore
from helioc.runtime.journal.older import RELEASES, older_build, older_config, write
from helioc.runtime.journal.store import Store
from helioc.runtime.stamp.parameters import Parameters
from helioc.runtime.stamp.store import Kept, SessionStore
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from journal_world import NAMES, held, made, taken
from linx_maps import bundle


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(NAMES, st.integers(0, 40), max_size=4), st.integers(0, 3))
def test_all_of_it_is_there(
    tmp_path_factory: pytest.TempPathFactory, there: dict[str, int], intents: int
) -> None:
    tmp_path = tmp_path_factory.mktemp("older")
    with closing(made(tmp_path / "one", there.items())) as store:
        kept = IntentStore(store)
        for number in range(intents):
            rules = (IntentRule("FAR", number, "ab"),)
            kept.add(Intent("edge", f"i{number}", "name", "text", 1.5, None, "active", rules))
        sessions = SessionStore(kept.ledger)  # which the older release does not know
        sessions.put(Kept("edge", Parameters(1, "192.0.2.1"), serial=sessions.number()))
        expected, read = held(store), kept.all()
        with store.take(kept.content(), ()) as found:
            write(found.parts(), tmp_path / "two", "format1")
    assert stat.S_IMODE((tmp_path / "two").stat().st_mode) == 0o700
    assert all(stat.S_IMODE(each.stat().st_mode) == 0o600 for each in (tmp_path / "two").iterdir())
    with closing(Store(tmp_path / "two")) as store:
        assert not store.losses
        there_now = held(store)
        assert there_now.keys() == expected.keys()
        for name, (revision, rules_, config, object_, answers) in expected.items():
            now = there_now[name]
            assert now[:4] == (revision, rules_, config, object_)
            assert [(e.key, e.digest, e.answer) for e in now[4]] == [
                (e.key, e.digest, e.answer) for e in answers]  # fmt: skip
        kept = IntentStore(store)
        assert kept.all() == read
        assert kept.add(Intent("edge", "new", "", "", 1.0, None)).serial == intents + 2


def test_a_damaged_backup_makes_no_directory(tmp_path: Path) -> None:
    with closing(made(tmp_path / "one", [("edge", 4)])) as store:
        data = taken(store, b'{"last": 0, "texts": {}}')
        nonsense = taken(store, b'{"last": 0}')
    for wrong in (data[:-1], data + b"x", data[:300], b"", nonsense):
        with pytest.raises(Refused, match="H0860"):
            write([wrong], tmp_path / "two", "format1")
    (tmp_path / "there").mkdir()
    for place in (tmp_path / "there", tmp_path / "no" / "such"):
        with pytest.raises(Refused, match="H0864"):
            write([data], place, "format1")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["one", "there"]


def test_what_the_older_release_does_not_know_is_left_out() -> None:
    manifest = json.loads(bundle().manifest.to_json())
    assert manifest["answers"] and "roles" in manifest["rules"][0]["match"][0]
    text, *_ = older_build("edge", (json.dumps(manifest), b"object", b""), "0924e90")
    older = json.loads(text)
    assert "answers" not in older
    assert all("roles" not in match for kind in older["rules"] for match in kind["match"])
    assert all("reserved" not in element for element in older["elements"])
    config = {"congestion": {"cpu": 0.5, "backlog": 0.5, "backlog_calm": 0.1}, "ports": []}
    said = json.loads(older_config(json.dumps(config)))
    assert said == {"congestion": {"cpu": 0.5}, "ports": []}
    assert set(RELEASES.values()) == {"format1"}


def test_a_bundle_that_it_cannot_drive_is_refused(tmp_path: Path) -> None:
    newer = bundle()
    with pytest.raises(Refused, match="H0865"):
        older_build("edge", (newer.manifest.to_json(), newer.object, b""), "0924e90")
