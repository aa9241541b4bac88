"""The Debian package on a clean Debian 12 with systemd: installed, used, upgraded, purged."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from agent_world import EDGE, make_edge
from debian_root import DebianRoot, booted
from lab import Lab, Namespace, command, until
from linx_maps import write

ROOT = Path(__file__).parents[2]
READY = "from urllib.request import urlopen; print(urlopen('http://127.0.0.1:9465/readyz').read())"
CONFIGURATION = "/etc/helio/heliod.yaml"
SETTINGS = (
    "s/^#health:.*/health: 127.0.0.1:9465/; s/^#tcp:.*/tcp: 0.0.0.0:50051/; s/^#identity/identity/"
)
PAGE = (ROOT / "docs" / "install.md").read_text()
KEYS_OF_THE_AGENT = next(line for line in PAGE.splitlines() if "chown helio " in line)
RULES = "FAR 1 [(action, u8, DROP)], PDR 1 [(dst_port, u16, 7), FAR 1]"
#: systemd is to see soon that nothing moves.
IMPATIENT = "[Service]\nWatchdogSec=1\nWatchdogSignal=SIGKILL\n"

pytestmark = pytest.mark.usefixtures("kernel")


def make_packages(directory: Path) -> tuple[Path, Path]:
    """The package, and one that is the same but for its version."""
    subprocess.run([sys.executable, ROOT / "package" / "build.py", "--quick", directory],
                   check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    (made,) = directory.glob("helio_*.deb")
    about, newer = directory / "about", directory / "helio_newer.deb"
    shutil.copy(made, newer)
    command("dpkg-deb", "--control", str(made), str(about))
    text = re.sub(r"^Version: .*$", "Version: 99.1", (about / "control").read_text(), flags=re.M)
    (about / "control").write_text(text)
    (member,) = (m for m in command("ar", "t", str(made)).split() if m.startswith("control"))
    command("tar", "--auto-compress", "-cf", str(directory / member), "-C", str(about), ".")
    command("ar", "r", str(newer), str(directory / member))
    return made, newer


@contextmanager
def sending(lan: Namespace) -> Iterator[list[int]]:
    """Datagrams to port 7, all the time. Yields how many; at the end it is all."""
    sent, stop = [0], threading.Event()
    sender = lan.inside_thread(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))

    def send() -> None:
        while not stop.wait(0.002):
            sender.sendto(b"hello", ("192.0.2.2", 7))
            sent[0] += 1

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield sent
    finally:
        stop.set()
        thread.join()
        sender.close()


def dropped(system: DebianRoot) -> int:
    found = re.search(r"^ *([\d,]+) +[\d,]+ +FAR 1 ", system.run("helioctl", "show", "FAR"), re.M)
    assert found is not None
    return int(found[1].replace(",", ""))


def pid(system: DebianRoot) -> int:
    return int(system.run("systemctl", "show", "-P", "MainPID", "heliod"))


def active(system: DebianRoot) -> None:
    said = system.run("systemctl", "show", "-P", "ActiveState", "heliod")
    assert said == "active\n", system.log("heliod")


@pytest.fixture
def lan(lab: Lab) -> Namespace:
    edge = make_edge(lab)
    found = Namespace(f"{lab.prefix}lan", lab._stack)
    found.address("eth0", "10.1.0.2/16")
    found.neighbour("eth0", "10.1.0.1", edge.mac("lan0"))
    found.route("192.0.2.0/24", "10.1.0.1")
    return found


def test_it_is_installed_used_upgraded_and_purged(lab: Lab, lan: Namespace, tmp_path: Path) -> None:
    first, newer = make_packages(tmp_path)
    write(tmp_path / "bundle")
    (tmp_path / "edge.yaml").write_text(EDGE)
    (tmp_path / "impatient.conf").write_text(IMPATIENT)
    (place := tmp_path / "system").mkdir()
    with booted(Namespace(f"{lab.prefix}edge", lab._stack), place) as system:
        before = files(system)
        for each in (first, newer, tmp_path / "bundle", tmp_path / "edge.yaml"):
            system.put(each, f"/tmp/{each.name}")
        system.run("dpkg", "-i", f"/tmp/{first.name}")
        active(system)
        assert system.run("systemctl", "is-enabled", "heliod") == "enabled\n"
        user = system.run("id", "-u", "helio").strip()
        assert (
            user != "0" and system.run("stat", "-c", "%u", f"/proc/{pid(system)}").strip() == user
        )

        # used, configured
        system.run("helioctl", "load", "/tmp/bundle", "--config", "/tmp/edge.yaml")
        system.run("helioctl", "create", RULES)
        system.run("helioctl", "certs", "new", "/etc/helio/certs")
        system.run("sh", "-c", KEYS_OF_THE_AGENT)
        system.run("sed", "-i", SETTINGS, CONFIGURATION)
        # as an agent leaves it that root ran
        system.run("systemctl", "stop", "heliod")
        system.run("chown", "-R", "root:", "/var/lib/helio", "/run/helio", "/sys/fs/bpf/helio")
        system.run("systemctl", "start", "heliod")
        assert "ok" in system.run("python3", "-c", READY)
        by_tls = ("--agent", "127.0.0.1:50051", "--identity", "/etc/helio/certs/admin")
        assert "FAR 1" in system.run("helioctl", *by_tls, "show", "FAR")

        # upgraded while packets come
        old = pid(system)
        with sending(lan) as sent:
            until(lambda: sent[0] > 100, "packets come")
            system.run("dpkg", "-i", f"/tmp/{newer.name}")
            active(system)
            seen = sent[0]
            until(lambda: sent[0] > seen + 100, "packets come")
        assert pid(system) != old and dropped(system) == sent[0]
        assert "health: 127.0.0.1:9465" in system.run("cat", CONFIGURATION)
        assert "ok" in system.run("python3", "-c", READY)

        # systemd starts it again where it makes no progress
        drop_in = "/etc/systemd/system/heliod.service.d"
        system.run("mkdir", drop_in)
        system.put(tmp_path / "impatient.conf", f"{drop_in}/impatient.conf")
        system.run("systemctl", "daemon-reload")
        system.run("systemctl", "restart", "heliod")
        old = pid(system)
        system.run("systemctl", "kill", "--signal=STOP", "--kill-whom=main", "heliod")
        until(lambda: pid(system) not in (0, old), "another agent", 30)
        assert "Watchdog timeout" in system.log("heliod")
        system.run("rm", "-r", drop_in)
        system.run("systemctl", "daemon-reload")

        # removed, and installed again
        system.run("dpkg", "--remove", "helio")
        assert "xdp" not in system.run("ip", "link", "show", "lan0")
        system.run("dpkg", "-i", f"/tmp/{newer.name}")
        active(system)
        assert "FAR 1" in system.run("helioctl", "show", "FAR")
        assert "xdp" in system.run("ip", "link", "show", "lan0")

        # gone, but for what somebody put there
        system.run("rm", "-r", "/etc/helio/certs")
        system.run("dpkg", "--purge", "helio")
        assert "xdp" not in system.run("ip", "link", "show", "lan0")
        system.run("id", "helio", status=1)
        assert "helio" not in system.run("ls", "/sys/fs/bpf")
        assert files(system) - before == set()


def files(system: DebianRoot) -> set[str]:
    """But for those of dpkg and its like, which remember."""
    found = system.run("find", "/etc", "/usr", "/var/lib", "/run/helio", "-xdev", "-not", "-path",
                       "/var/lib/dpkg/*", status=1).splitlines()  # fmt: skip
    return {each for each in found if not each.endswith("-")}  # /etc/passwd-
