"""An agent as the unit runs it: a user of its own with a few capabilities, who is not root."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from agent_world import EDGE, World, world
from helioc.runtime.client import Rejected
from helioc.runtime.kernel.privileges import AGENT, READER
from helioc.runtime.kernel.system import give_to_owner
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.lock import Exclusive
from lab import Background, Lab, command, until
from privileges_world import children, mask, threads

#: Nobody's number on a Debian system.
USER = 64999
CAPABILITIES = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in AGENT)
# Folders of that user's, in a mount namespace that lasts as long as this.
_PLACES = f"""
mount -t tmpfs -o mode=0750,uid={USER},gid={USER} none /run/helio && {{pins}} && echo made
exec sleep infinity
"""
_PINS = f"""mount -t bpf -o mode=0711 bpf /sys/fs/bpf && mkdir -m 700 /sys/fs/bpf/helio &&
chown {USER}:{USER} /sys/fs/bpf/helio"""

pytestmark = pytest.mark.usefixtures("kernel")


@dataclass
class Place(World):
    """`holder`: the process that keeps the mount namespace."""

    holder: int = 0

    @property
    def socket(self) -> Path:
        return Path(f"/proc/{self.holder}/root", "run/helio/heliod.sock")

    def within(self, *words: str) -> list[str]:
        return ["nsenter", f"--mount=/proc/{self.holder}/ns/mnt", "--", *words]

    def user(self) -> list[str]:
        """What runs a program as the unit does."""
        return self.within(
            "setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups",
            f"--inh-caps=-all,{CAPABILITIES}", f"--ambient-caps=-all,{CAPABILITIES}",
            f"--bounding-set=-all,{CAPABILITIES}",
        )  # fmt: skip

    def local(self, *words: str) -> str:
        """`helioctl`, run by root without the agent."""
        program = [sys.executable, "-m", "helioc.commands.helioctl", "--local", "--name", self.name]
        done = subprocess.run(self.edge.inside(*self.within(*program, *words)),
                              capture_output=True, text=True, timeout=60)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def load(self) -> None:
        edge = self.directory / "edge.yaml"
        self.local("load", str(self.directory / "bundle"), "--config", str(edge))


HERE = ("--socket", "/run/helio/heliod.sock", "--state", "/run/helio/state")


@pytest.fixture
def here(lab: Lab, tmp_path: Path) -> Iterator[Place]:
    Path("/run/helio").mkdir(mode=0o700, exist_ok=True)
    with world(lab, tmp_path) as made:
        holder = Background(("unshare", "--mount", "sh", "-c", _PLACES.format(pins=_PINS)))
        try:
            holder.expect("made")
            yield Place(made.edge, made.name, made.directory, holder.pid)
        finally:
            holder.stop()


def reboot(here: Place) -> None:
    """What a reboot leaves: no pins."""
    command(*here.within("sh", "-c", f"umount /sys/fs/bpf && {_PINS}"))


def test_it_works_without_root(here: Place) -> None:
    bundle = read_bundle(here.directory / "bundle")
    with here.agent(*HERE, by=here.user()) as process, here.client() as client:
        client.load(bundle, EDGE)
        client.apply("create FAR 1 [(action, u8, DROP)], PDR 1 [(dst_port, u16, 7), FAR 1]")
        assert client.upgrade(bundle).rules == 3
        assert client.refresh().gone == [] and client.stats().events
        texts = [rule.text for rule in client.rules()]
        all_of_them = mask(*AGENT)
        assert threads(process.pid) == {(*[all_of_them] * 5, 1)}
        until(lambda: len(children(process.pid)) == 2, "the readers")
        for child in children(process.pid):
            reader = mask(*READER)
            assert threads(child) == {(reader, reader, reader, all_of_them, reader, 1)}
    with here.agent(*HERE, by=here.user()), here.client() as client:  # takes it over
        assert [rule.text for rule in client.rules()] == texts and not client.status().findings
    reboot(here)
    with here.agent(*HERE, by=here.user()), here.client() as client:  # restores it
        assert [rule.text for rule in client.rules()] == texts and not client.status().findings
        client.unload()
        client.load(bundle, EDGE)
        client.unload()


def test_what_root_loads_beside_it_is_its_own(here: Place) -> None:
    """Pins and locks that `helioctl --local` makes can be opened by the agent's user."""
    with here.agent(*HERE, by=here.user()), here.client() as client:
        here.load()
        client.apply("create FAR 1 [(action, u8, DROP)]")
        assert len(list(client.rules())) == 2
    here.local("create", "FAR 2 [(action, u8, DROP)]")
    with here.agent(*HERE, by=here.user()), here.client() as client:
        assert len(list(client.rules())) == 3
        client.unload()
    here.load()
    here.local("unload")
    folder = command(*here.within("stat", "-c", "%u", "/sys/fs/bpf/helio"))
    assert int(folder) == USER, "else the agent could not make it again"


def test_root_gives_away_nothing_but_what_it_made(tmp_path: Path, kernel: None) -> None:
    """Whoever owns the directory may have put links there."""
    theirs, secret = tmp_path / "theirs", tmp_path / "secret"
    theirs.mkdir()
    secret.write_text("")
    (theirs / "soft").symlink_to(secret)
    (theirs / "hard").hardlink_to(secret)
    (theirs / "own").write_text("")
    os.chown(theirs, USER, USER)
    for path in theirs.iterdir():
        give_to_owner(path)
    assert secret.stat().st_uid == 0 and (theirs / "own").stat().st_uid == USER
    with pytest.raises(OSError, match="symbolic links"):
        Exclusive(theirs / "soft")


def test_a_group_may_use_the_socket(here: Place) -> None:
    member = ["setpriv", f"--reuid={USER + 1}", f"--regid={USER + 1}", f"--groups={USER}"]
    stranger = [*member[:3], "--clear-groups"]
    asked = [sys.executable, "-m", "helioc.commands.helioctl", "list"]
    for options, mode in (((), 0o600), (("--socket-mode", "0660"), 0o660)):
        with here.agent(*HERE, *options, by=here.user()):
            assert stat.S_IMODE(here.socket.stat().st_mode) == mode
            for who, may in ((member, mode == 0o660), (stranger, False)):
                done = subprocess.run(here.edge.inside(*here.within(*who, *asked)),
                                      capture_output=True, text=True, timeout=60)  # fmt: skip
                assert (done.returncode == 0) == may, done.stdout + done.stderr
                assert may or ("H0763" in done.stderr and "adduser USER helio" in done.stderr)


def test_no_place_for_pins_is_an_error_that_says_how_to_make_one(here: Place) -> None:
    """systemd mounts bpffs for root alone."""
    command(*here.within("chmod", "0700", "/sys/fs/bpf"))
    with here.agent(*HERE, by=here.user()), here.client() as client:
        with pytest.raises(Rejected) as error:
            client.load(read_bundle(here.directory / "bundle"), EDGE)
        (found,) = error.value.diagnostics
        assert found.code == "H0720" and f"user {USER}" in found.title
        fix = found.help.removeprefix("as root: `").rstrip("`")
        command(*here.within("sh", "-c", fix))
        client.load(read_bundle(here.directory / "bundle"), EDGE)
        client.unload()
