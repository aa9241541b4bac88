"""Certificates that are shut out before they end."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest
from agent_world import EDGE, World, ask_health
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from helioc.commands.helioctl import cli
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base.certs import issue, make_authority, revoke
from helioc.runtime.base.identity import read_expiries
from helioc.runtime.base.revoked import Revoked
from helioc.runtime.client import Client, Rejected
from helioc.runtime.http2.codes import Code
from helioc.runtime.loading.bundle import read_bundle
from lab import LabError, until
from set_clock import DAY, clock
from tls_world import PORT, code_of, within


def _line(here: World, begins: str) -> str:
    lines = here.edge.run(*METRICS).splitlines()
    return next((line for line in lines if line.startswith(begins)), "")


METRICS = (sys.executable, "-m", "helioc.commands.helioctl", "--local", "metrics")


@pytest.mark.usefixtures("kernel")
def test_when_certificates_end_is_measured_and_that_they_are_gone_is_a_finding(
    here: World, tmp_path: Path
) -> None:
    at = tmp_path / "certs"
    make_authority(at, [])
    agent, authority = read_expiries(at / "agent")
    options = ("--tcp", f"127.0.0.1:{PORT}", "--identity", str(at / "agent"))
    with here.agent(*options), here.client() as local:
        for each in (agent, authority):
            labels = f'certificate="{each.name}",subject="{each.subject}"'
            expected = f"helio_certificate_ends_seconds{{{labels}}} "
            line = partial(_line, here, expected)
            assert float(until(line, expected).removeprefix(expected)) == each.ends
        local.pipeline = ""
        assert [each.subject for each in local.status().certificates] == [
            agent.subject, authority.subject]  # fmt: skip
        at.rename(tmp_path / "elsewhere")
        status = local.status()
        (found,) = [each for each in status.findings if each.code == "H0771"]
        assert str(at / "agent.pem") in found.title and not status.certificates
    assert "helio_certificate_ends_seconds" not in here.edge.run(*METRICS)


@pytest.mark.usefixtures("kernel")
def test_who_is_revoked_is_shut_out_at_once(here: World, tmp_path: Path) -> None:
    at = tmp_path / "certs"
    make_authority(at, [])
    issue(at, "thief", "rules")
    options = ("--tcp", f"127.0.0.1:{PORT}", "--identity", str(at / "agent"))

    def go(client: Client) -> None:
        with client.watch() as watch:
            client.pipeline = ""
            made = CliRunner().invoke(cli, ["certs", "revoke", str(at), str(at / "thief.pem")])
            assert made.exit_code == 0 and made.output.endswith(" thief.pem\n")
            with pytest.raises(Rejected, match="H0763"):  # the connection is closed
                list(watch)
        denied = Code.PERMISSION_DENIED
        until(lambda: code_of(client.status) is denied, "gRPC knows that it was closed")
        with pytest.raises(Rejected, match="H0776"):
            client.status()

    def cut(client: Client) -> None:
        """Nobody knows whom a list that cannot be read shuts out."""
        with client.watch() as watch:
            (at / "revoked").write_text("nonsense\n")
            with pytest.raises(Rejected, match="H0763"):
                list(watch)

    def status(client: Client) -> int:
        client.pipeline = ""
        return client.status().pid

    page = here.directory / "health"
    with here.agent(*options, "--health", f"unix:{page}") as process:
        with here.client() as local:
            local.load(read_bundle(here.directory / "bundle"), EDGE)
        within(here, at, "thief", go)
        assert within(here, at, "admin", status)
        within(here, at, "admin", cut)
        process.expect("H0777")
        codes = [code_of(partial(within, here, at, name, status)) for name in ("thief", "admin")]
        assert codes == [Code.PERMISSION_DENIED, Code.UNAVAILABLE]
        (at / "revoked").unlink()
        process.expect("was there, and is gone")
        for words in (("status",), ("status", "--json"), ("list",)):
            assert "H0777" in here.ctl(*words) and "was there, and is gone" in here.ctl(*words)
        answer, said = ask_health(page, "/readyz")
        assert answer == 503 and said.startswith("H0777: nobody is let in by TLS")
        assert code_of(partial(within, here, at, "admin", status)) is Code.UNAVAILABLE
        (at / "revoked").touch()
        process.expect("0 certificates are revoked")
        assert "H0777" not in here.ctl("status") + here.ctl("list")
        assert ask_health(page, "/readyz") == (200, "ok\n")
        assert within(here, at, "thief", status)
    (at / "revoked").write_text("# none\n00:11\n")
    with (
        pytest.raises(LabError, match="line 2 of .* is no certificate's SHA-256"),
        here.agent(*options),
    ):
        pass


@pytest.mark.usefixtures("kernel")
def test_whose_certificate_ends_is_shut_out(here: World, certs: Path, tmp_path: Path) -> None:
    """Its open connection is closed, and that is on record."""
    set_clock = clock(tmp_path)
    options = ("--tcp", f"127.0.0.1:{PORT}", "--identity", str(certs / "agent"))
    with here.agent(*options, by=set_clock.by) as process:
        with here.client() as local:
            local.load(read_bundle(here.directory / "bundle"), EDGE)

        def go(client: Client) -> None:
            with client.watch() as watch:
                set_clock.jump(366 * DAY)
                with pytest.raises(Rejected, match="H0763"):
                    list(watch)

        within(here, certs, "a-read", go)
        process.expect("its certificate has ended")


def test_lists_of_who_is_revoked(tmp_path: Path) -> None:
    make_authority(tmp_path, [])
    admin, agent = (
        x509.load_pem_x509_certificate(path.read_bytes()).fingerprint(SHA256())
        for path in (tmp_path / "admin.pem", tmp_path / "agent.pem")
    )
    colons = admin.hex(":").upper()
    path = tmp_path / "revoked"
    assert admin.hex() not in Revoked(path)
    for text in (f"{colons} # stolen", f"SHA256 Fingerprint={colons}\n", admin.hex()):
        path.write_text(f"# who\n\n{'0' * 64} somebody\n{text}")
        found = Revoked(path)
        assert admin.hex() in found and "" not in found and agent.hex() not in found
    path.write_text("nonsense")
    assert found.changed() and agent.hex() in found and "" not in found
    path.write_text("# nobody")
    assert found.changed() and agent.hex() not in found and admin.hex() not in found
    path.write_text(admin.hex())
    with pytest.raises(Refused, match="H0771"):
        revoke(tmp_path, path)
