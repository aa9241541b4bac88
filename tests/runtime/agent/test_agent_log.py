"""What the agent logs by itself, for who looks in the morning; and that it starts all the same."""

from __future__ import annotations

import os
import shutil
import signal
from datetime import timedelta
from pathlib import Path

import pytest
from agent_world import EDGE, World
from helioc.runtime.base.certs import _write, certify, make_authority, new_key, read_authority
from helioc.runtime.client import Client, Rejected
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.releases import remove_pinned
from tls_world import PORT

pytestmark = pytest.mark.usefixtures("kernel")


def load(here: World, client: Client) -> None:
    client.load(read_bundle(here.directory / "bundle"), EDGE)
    client.apply("create FAR 1 [(action, u8, DROP)]")


def test_a_port_that_goes_is_told(here: World) -> None:
    with here.agent() as process, here.client() as client:
        load(here, client)
        here.edge.ip("link", "set", "wan0", "name", "other0")
        process.expect(f"WARNING: {here.name}: the port WAN1 has no interface: there is no wan0")
        here.edge.ip("link", "set", "other0", "name", "wan0")
        process.expect(f"INFO: {here.name}: the port WAN1 has its interface again: wan0")


def test_a_state_directory_that_goes_is_told(here: World) -> None:
    with here.agent() as process, here.client() as client:
        load(here, client)
        elsewhere = here.directory / "elsewhere"
        here.state.rename(elsewhere)
        process.expect("cannot be written: it was moved away, or removed")
        with pytest.raises(Rejected, match="H0780.*it was moved away") as error:
            client.apply("create FAR 2 [(action, u8, DROP)]")
        assert "Move it back" in error.value.diagnostics[0].help
        elsewhere.rename(here.state)
        process.expect(f"{here.name}: the journal can be written again")
        client.apply("create FAR 2 [(action, u8, DROP)]")


def test_a_certificate_of_its_own_that_has_ended_holds_up_nothing(
    here: World, tmp_path: Path
) -> None:
    """After a reboot: pipelines are restored, and the Unix socket is served."""
    certs = tmp_path / "certs"
    make_authority(certs, [])
    authority, signer = read_authority(certs)
    key = new_key()
    ended = certify(
        authority, signer, "ended", key.public_key(), None, ["127.0.0.1"], timedelta(seconds=-1)
    )
    _write(certs, "ended", ended, key)
    with here.agent(), here.client() as client:
        load(here, client)
    remove_pinned(here.name)
    options = ("--tcp", f"127.0.0.1:{PORT}", "--identity", str(certs / "ended"))
    with here.agent(*options) as process, here.client() as client:
        assert [rule.id for rule in client.rules(kinds=["FAR"])] == [1]
        process.expect("the certificate of the agent (CN=ended) has ended")


def test_it_ends_by_no_terminal_and_says_that_it_ends(here: World) -> None:
    with here.agent() as process, here.client() as client:
        os.kill(process.pid, signal.SIGHUP)
        process.expect("INFO: SIGHUP: certificates and `revoked` are read again by themselves")
        assert client.status().pid
        os.kill(process.pid, signal.SIGTERM)
        process.expect("ends; pipelines go on working")


def test_one_that_could_not_be_restored_is_not_just_not_loaded(here: World) -> None:
    with here.agent(), here.client() as client:
        load(here, client)
    remove_pinned(here.name)
    (snapshot,) = here.state.glob("snapshot-1-*")
    snapshot.write_bytes(snapshot.read_bytes()[:-1])
    with here.agent():
        for words in (["show"], ["repair"], ["stats"]):
            assert "H0785" in here.ctl(*words, status=1), words


def test_a_journal_that_is_gone_is_a_loss(here: World) -> None:
    """An agent that begins with an empty one does not look well."""
    with here.agent(), here.client() as client:
        load(here, client)
    shutil.rmtree(here.state)
    for _ in range(2):
        with here.agent() as process, here.client() as client:
            assert "the journal that had it is gone" in here.ctl("status")
            assert [rule.id for rule in client.rules(kinds=["FAR"])] == [1]
            assert "H0781" in process.expect("ready")
    with here.agent():
        assert "the journal that had it is gone" in here.ctl("repair", "--accept-loss")
        assert "H0781" not in here.ctl("status")
    with here.agent():
        assert "H0781" not in here.ctl("status") and "H0784" in here.ctl("status")
        here.ctl("unload")
        here.ctl("load", "bundle", "--config", "edge.yaml")
    with here.agent():
        said = here.ctl("status")
        assert "H0781" not in said and "H0784" not in said
