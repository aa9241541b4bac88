"""`helioctl`, as a user runs it: in a network namespace, with traffic, and with mistakes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest
from agent_world import EDGE, make_edge
from click.testing import CliRunner
from helioc.commands.helioctl import cli
from helioc.runtime.loading.loader import unload
from helioc.runtime.loading.releases import ROOT
from lab import Lab, Namespace, until
from linx_maps import udp, write

pytestmark = pytest.mark.usefixtures("kernel")

_numbers = count(1)


class Ctl:
    """`helioctl` inside a namespace, for one pipeline."""

    def __init__(self, inside: Namespace, name: str, directory: Path) -> None:
        self.inside, self.name, self.directory = inside, name, directory

    def __call__(self, *words: str, stdin: str = "", status: int = 0) -> str:
        program = [sys.executable, "-m", "helioc.commands.helioctl", "--name", self.name]
        done = subprocess.run(
            self.inside.inside(*program, *words), input=stdin, capture_output=True, text=True,
            cwd=self.directory, timeout=60,
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert done.returncode == status, said
        assert "Traceback" not in said and "error[H9999]" not in said
        return said


@pytest.fixture
def edge(lab: Lab) -> Namespace:
    return make_edge(lab)


@pytest.fixture
def ctl(edge: Namespace, tmp_path: Path) -> Iterator[Ctl]:
    write(tmp_path / "bundle")
    (tmp_path / "edge.yaml").write_text(EDGE)
    made = Ctl(edge, f"ht{os.getpid()}-c{next(_numbers)}", tmp_path)
    yield made
    if (ROOT / made.name).exists():
        unload(made.name)


def test_from_load_to_unload_with_traffic(ctl: Ctl, edge: Namespace, lab: Lab) -> None:
    assert "LAN (lan: lan0), WAN1 (wan: wan0)" in ctl("load", "bundle", "--config", "edge.yaml")
    ctl("create", "PDR [(dst_ip, u32, 10.2.0.0/16), FAR [(action, u8, REDIRECT), "
                  "(interface, u32, GRE-WAN1)]]")  # fmt: skip
    both = "create FAR 9 [(action, u8, DROP)]; delete FAR 9"
    assert "nothing changed" in ctl("push", "-", stdin=both)
    lan, wan = (Namespace(f"{lab.prefix}{n}", lab._stack) for n in ("lan", "wan"))
    sender, receiver = lan.wire("eth0"), wan.wire("eth0")
    frame = bytes.fromhex(edge.mac("lan0").replace(":", "")) + udp("10.1.0.10", "10.2.0.5")[6:]
    sender.send(frame)
    seen = receiver.expect(lambda f: f[12:14] == b"\x08\x00" and f[23] == 47)
    assert seen[26:34] == bytes((192, 0, 2, 1, 192, 0, 2, 2))
    assert seen[34:42].hex() == "2000080000000007"
    (shown,) = json.loads(ctl("show", "--json", "PDR"))
    assert (shown["packets"], shown["bytes"]) == (1, len(frame))
    ctl("update", "FAR 1 [(action, u8, DROP)]")
    sender.send(frame)
    until(lambda: json.loads(ctl("stats", "--json"))["events"]["verdict"]["drop"], "a drop")
    (shown,) = json.loads(ctl("show", "--json", "PDR"))
    assert shown["packets"] == 2
    assert "GRE-WAN1" in ctl("show") and "per second" in ctl("stats")
    assert "next hop" in ctl("refresh")
    assert f"unloaded {ctl.name}" in ctl("unload")
    assert "H0706" in ctl("show", status=1)


def test_push_takes_every_kind_of_file(ctl: Ctl) -> None:
    ctl("load", "bundle", "--config", "edge.yaml")
    at = ctl.directory
    text = "create FAR 1 [(action, u8, DROP)];\ncreate FAR 2 [(action, u8, PASS)]\n"
    (at / "a.req").write_text(text)
    (at / "b.yaml").write_text("create:\n  FAR: {id: 3, action: DROP}\n")
    (at / "pdr.csv").write_text("dst_ip,FAR\n10.7.0.0/16,1\n10.8.0.0/16,3\n")
    for file in ("a.req", "b.yaml", "pdr.csv"):
        assert "created" in ctl("push", file)
    assert "deleted 1 rule" in ctl("push", "-", stdin="delete PDR 2")
    assert len(json.loads(ctl("show", "--json"))) == 5
    assert "H0452" in ctl("push", "pdr.csv", status=1)
    assert "H0741" in ctl("push", "edge.conf", status=1)
    assert "H0740" in ctl("push", "none.req", status=1)
    (at / "rules.csv").write_text("dst_ip,FAR\n10.9.0.0/16,1\n")
    assert "by `--kind`: " in ctl("push", "rules.csv", status=1)
    assert "created PDR 2" in ctl("push", "rules.csv", "--kind", "pdr")


@pytest.mark.parametrize("name", ["z.req", "z.yaml", "z.csv", "z.hpr", "-"])
def test_what_never_ends_is_not_read_to_its_end(ctl: Ctl, name: str) -> None:
    ctl("load", "bundle", "--config", "edge.yaml")
    zeros = ctl.directory / (name if name != "-" else "zeros")
    zeros.symlink_to("/dev/zero")
    with zeros.open("rb") as file:
        helioctl = [sys.executable, "-m", "helioc.commands.helioctl"]
        program = [*helioctl, "--name", ctl.name, "push", name]
        done = subprocess.run(ctl.inside.inside(*program, "--kind", "PDR"), stdin=file, timeout=60,
                              cwd=ctl.directory, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 1 and "error[H0745]" in done.stderr, done.stderr
    assert "larger than 64 MiB" in done.stderr


def test_the_edge_is_no_device(ctl: Ctl) -> None:
    (ctl.directory / "zero.yaml").symlink_to("/dev/zero")
    assert "larger than 1 MiB" in ctl("load", "bundle", "--config", "zero.yaml", status=1)
    assert "H0740" in ctl("load", "bundle", "--config", ".", status=1)


def test_rules_come_by_a_pipe(ctl: Ctl) -> None:
    ctl("load", "bundle", "--config", "edge.yaml")
    (ctl.directory / "far.csv").symlink_to("/dev/stdin")
    assert "created FAR 1" in ctl("push", "far.csv", stdin="id,action\n1,DROP\n")
    # A PDR with its FAR and LBR is shown as it was said.
    said = "PDR 1 [(dscp, u8, 1), FAR [(action, u8, PASS)], LBR [(tos, u8, 4), FAR, FAR 1]]"
    ctl("create", said)
    (shown,) = json.loads(ctl("show", "--json", "PDR"))
    assert shown["rule"] == said


def test_packed_rules_are_pushed(ctl: Ctl) -> None:
    ctl("load", "bundle", "--config", "edge.yaml")
    ctl("create", "FAR 1 [(action, u8, DROP)]")
    at = ctl.directory
    (at / "pdr.csv").write_text("dst_ip,src_mac,FAR\n10.7.0.0/16,,1\n,02:00:00:00:00:0a,1\n")
    assert "packed 2 rules of PDR into pdr.hpr" in ctl("pack", "bundle", "pdr.csv")
    assert "created PDR 1, PDR 2" in ctl("push", "pdr.hpr")
    (shown, _) = json.loads(ctl("show", "--json", "PDR"))
    assert shown["rule"] == "PDR 1 [(dst_ip, u32, 10.7.0.0/16), FAR 1]"
    said = ctl("push", "pdr.hpr", status=1)
    assert "error[H0452]" in said and "pdr.hpr:1:1" in said and "PDR, rule 1" in said
    (at / "bad.csv").write_text("dst_ip,FAR\n10.7.0.1/16,1\n")
    assert "bad.csv:2:1" in ctl("pack", "bundle", "bad.csv", "--kind", "PDR", status=1)
    assert "H0742" in ctl("pack", "bundle", "bad.csv", status=1)
    (at / "lbr.csv").write_text("tos\n8\n")
    assert "H0470" in ctl("pack", "bundle", "lbr.csv", status=1)  # as `push` says
    assert "`helioctl show FAR` lists the rules" in ctl("show", "FAR", "99", status=1)
    for words in ("PDR 1 2", "LAN WAN1"):
        assert "H0743" in ctl("show", *words.split(), status=1)
    assert "H0742" in ctl("metrics", "--rules", "PDRR", status=1)
    assert "H0741" in ctl("pack", "bundle", "pdr.csv", "-o", "pdr.txt", status=1)
    assert "H0741" in ctl("pack", "bundle", "pdr.hpr", status=1)
    assert "H0309" in ctl("pack", "bundle", "pdr.csv", "-o", "none/pdr.hpr", status=1)
    (at / "far.csv").write_text("action\nDROP\nDROP\n")
    said = ctl("pack", "bundle", "far.csv")
    assert "warning[H0464]" in said and "packed 2 rules of FAR" in said
    (at / "bad.csv").write_text("dst_ip,FAR\n10.7.0.0/16,1\n10.7.0.0/16,2\n")
    assert "error[H0452]" in ctl("pack", "bundle", "bad.csv", "--kind", "PDR", status=1)
    assert not (at / "bad.hpr").exists() and not (at / "pdr.txt").exists()


def test_without_the_bpf_file_system_it_is_said(ctl: Ctl) -> None:
    ctl("load", "bundle", "--config", "edge.yaml")
    for words in ("list", "show", "list --json", "unload"):
        hidden = ["unshare", "--mount", "sh", "-c", 'umount /sys/fs/bpf; exec "$@"', "sh"]
        program = [sys.executable, "-m", "helioc.commands.helioctl", *words.split()]
        done = subprocess.run([*hidden, *program], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and "error[H0721]" in done.stderr
        assert "mount -t bpf bpf /sys/fs/bpf" in done.stderr


def test_mistakes_are_said(ctl: Ctl) -> None:
    (ctl.directory / "bad.yaml").write_text("ports: {LAN: {role: lan, interface: lan9}}\n")
    assert "did you mean `lan0`?" in ctl("load", "bundle", "--config", "bad.yaml", status=1)
    assert "H0701" in ctl("load", "nothing", "--config", "edge.yaml", status=1)
    assert "H0701" in ctl("load", "--config", "edge.yaml", status=1)
    assert "H0740" in ctl("load", "bundle", "--config", "none.yaml", status=1)
    assert "H0706" in ctl("create", "FAR 1", status=1)
    assert "No such command" in ctl("creat", "FAR", status=2)
    ctl("load", "bundle", "--config", "edge.yaml")
    assert "H0705" in ctl("load", "bundle", "--config", "edge.yaml", status=1)
    assert "did you mean" in ctl("create", "FRA 1 [(action, u8, DROP)]", status=1)
    assert "H0743" in ctl("show", "GRE-WAN2", status=1)
    assert "H0724" in ctl("explain", "H0724")
    assert "H0308" in ctl("explain", "H1234", status=1)


def test_another_users_program_is_left_alone(ctl: Ctl, edge: Namespace) -> None:
    ctl("load", "bundle", "--config", "edge.yaml")
    other = Ctl(edge, f"{ctl.name}x", ctl.directory)
    said = other("load", "bundle", "--config", "edge.yaml", status=1)
    assert said.count("H0724") >= 2 and "lan0" in said and "wan0" in said
    assert f"`helioctl --name {ctl.name} unload` first" in said and "ip link" not in said
    assert not (ROOT / other.name).exists()
    assert len(json.loads(ctl("show", "--json"))) == 1


@pytest.mark.parametrize("words", ["--help", "load --help", "stats -h", "list", "explain"])
def test_what_needs_no_pipeline(ctl: Ctl, words: str) -> None:
    assert ctl(*words.split())


def test_commands_side_by_side_are_all_carried_out(ctl: Ctl) -> None:
    ctl("load", "bundle", "--config", "edge.yaml")
    with ThreadPoolExecutor(8) as pool:
        rules = [f"FAR {i} [(action, u8, DROP)]" for i in range(1, 9)]
        list(pool.map(lambda rule: ctl("create", rule), rules))
    assert len(json.loads(ctl("show", "--json", "FAR"))) == 8


@pytest.mark.parametrize("command", ["trace", "metrics"])
def test_what_looks_at_the_kernel_sends_nobody_to_what_there_is_not(command: str) -> None:
    done = CliRunner().invoke(cli, ["--agent", "192.0.2.1:50051", command])
    assert done.exit_code == 2 and "run it there, without --agent" in done.output
    assert ("heliod --metrics" in done.output) == (command == "metrics")
