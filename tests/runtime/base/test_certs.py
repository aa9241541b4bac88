"""A lab's authority, and identities read from files."""

from __future__ import annotations

import os
import stat
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from helioc.commands.helioctl import cli
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base.certs import issue, make_authority
from helioc.runtime.base.identity import read_identity, role_of
from helioc.runtime.base.revoked import Revoked


def test_a_certificate_with_another_role_is_none() -> None:
    assert role_of(["urn:helio:role:root", "edge.example"]) is None
    assert role_of(["urn:helio:role:read", "urn:helio:role:rules"]) == "rules"


def test_certs_by_command(tmp_path: Path) -> None:
    run, at = CliRunner().invoke, str(tmp_path / "lab")
    assert run(cli, ["certs", "new", at, "--host", "edge.example"]).exit_code == 0
    assert run(cli, ["certs", "client", at, "watcher", "--role", "read"]).exit_code == 0
    assert run(cli, ["certs", "agent", at, "edge-b", "--host", "10.0.0.2"]).exit_code == 0
    found = sorted(path.name for path in (tmp_path / "lab").iterdir())
    assert found == sorted(f"{n}.{e}" for n in ("ca", "agent", "admin", "watcher", "edge-b")
                           for e in ("key", "pem"))  # fmt: skip
    assert stat.S_IMODE(os.stat(f"{at}/ca.key").st_mode) == 0o600
    assert stat.S_IMODE(os.stat(at).st_mode) == 0o700


def expire(certificate: Path, key: Path) -> None:
    """Give the certificate an end in the past."""
    signer = load_pem_private_key(key.read_bytes(), None)
    old = x509.load_pem_x509_certificate(certificate.read_bytes())
    made = (
        x509.CertificateBuilder().subject_name(old.subject).issuer_name(old.issuer)
        .public_key(old.public_key()).serial_number(1)
        .not_valid_before(datetime(2020, 1, 1)).not_valid_after(datetime(2020, 2, 1))
        .sign(signer, SHA256())  # type: ignore[arg-type]
    )  # fmt: skip
    certificate.write_bytes(made.public_bytes(Encoding.PEM))


@pytest.mark.parametrize("broken", ["expired", "swapped", "nonsense", "missing"])
def test_identities_that_cannot_be_used(tmp_path: Path, broken: str) -> None:
    make_authority(tmp_path, [])
    key, certificate = tmp_path / "admin.key", tmp_path / "admin.pem"
    if broken == "swapped":
        key.write_bytes((tmp_path / "agent.key").read_bytes())
    elif broken == "nonsense":
        certificate.write_text("-----BEGIN CERTIFICATE-----\n")
    elif broken == "missing":
        key.unlink()
    else:
        expire(certificate, key)
    with pytest.raises(Refused, match="H0740" if broken == "missing" else "H0771"):
        read_identity(tmp_path / "admin")


def test_an_authority_is_not_revoked(tmp_path: Path) -> None:
    make_authority(tmp_path, [])
    done = CliRunner().invoke(cli, ["certs", "revoke", str(tmp_path), str(tmp_path / "ca.pem")])
    assert isinstance(done.exception, Refused)
    (found,) = done.exception.diagnostics
    assert found.code == "H0771" and "an authority's" in found.title and "rotate" in found.help
    assert not (tmp_path / "revoked").exists()


@pytest.mark.parametrize("host", ["", "bad host", "a..b", "x" * 64, "10.0.0.0/8", "edge1:50051"])
def test_a_certificate_is_for_hosts_that_there_can_be(tmp_path: Path, host: str) -> None:
    make_authority(tmp_path / "there", [])
    for words in (["new", tmp_path / "new"], ["agent", tmp_path / "there", "e9"]):
        done = CliRunner().invoke(cli, ["certs", *map(str, words), "--host", host])
        assert isinstance(done.exception, Refused) and "is no host" in str(done.exception)
    assert not (tmp_path / "new").exists() and not (tmp_path / "there" / "e9.pem").exists()
    hosts = ["edge1.example", "192.0.2.1", "2001:db8::1", "*.example"]
    assert issue(tmp_path / "there", "e9", None, hosts)


def test_who_is_revoked_is_so_once(tmp_path: Path) -> None:
    make_authority(tmp_path, [])
    list_, words = tmp_path / "revoked", ["certs", "revoke", str(tmp_path)]
    list_.write_text("# none yet")  # without an end of line
    for _ in range(2):
        assert CliRunner().invoke(cli, [*words, str(tmp_path / "admin.pem")]).exit_code == 0
    (line,) = list_.read_text().splitlines()[1:]
    assert line.partition(" ")[0] in Revoked(list_)
    words[2] = str(tmp_path / "none")
    done = CliRunner().invoke(cli, [*words, str(tmp_path / "admin.pem")])
    assert isinstance(done.exception, Refused)
    assert "has the agent's identity" in done.exception.diagnostics[0].help


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    make_authority(tmp_path, [])
    before = (tmp_path / "ca.key").read_bytes()
    with pytest.raises(Refused, match="H0772"):
        make_authority(tmp_path, [])
    with pytest.raises(Refused, match="H0762"):
        issue(tmp_path, "../x", "read")
    assert (tmp_path / "ca.key").read_bytes() == before
