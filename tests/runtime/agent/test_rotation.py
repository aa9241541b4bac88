"""Another authority in the place of one, while clients call."""

from __future__ import annotations

import shutil
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, partialmethod
from pathlib import Path

import pytest
from agent_world import World
from click.testing import CliRunner
from cryptography import x509
from helioc.commands.helioctl import cli
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base.certs import issue, make_authority, revoke
from helioc.runtime.base.identity import read_expiries, read_identity
from helioc.runtime.base.rotation import retire, rotate
from helioc.runtime.client import Client
from helioc.runtime.http2.codes import Code
from tls_world import PORT, code_of, within


def status(client: Client) -> int:
    client.pipeline = ""
    return client.status().pid


def refused(here: World, at: Path, name: str) -> bool:
    return code_of(lambda: within(here, at, name, status)) is Code.UNAVAILABLE


@contextmanager
def calling(here: World, at: Path, name: str) -> Iterator[list[Exception]]:
    """A client that connects again for each call, until the end; what went wrong."""
    ended, wrong, calls = threading.Event(), list[Exception](), [0]

    def run() -> None:
        while not ended.is_set():
            try:
                within(here, at, name, status)
            except (Refused, LookupError, OSError) as error:
                wrong.append(error)
            calls[0] += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield wrong
    finally:
        while calls[0] < 5 and thread.is_alive():
            thread.join(0.05)
        ended.set()
        thread.join()


@pytest.mark.usefixtures("kernel")
def test_nobody_is_refused_meanwhile(here: World, tmp_path: Path) -> None:
    at, old = tmp_path / "certs", tmp_path / "old"
    make_authority(at, ["192.0.2.1"])
    issue(at, "thief", "admin")
    shutil.copytree(at, old)  # a client elsewhere, which knows the authority of before only
    revoke(at, at / "thief.pem")
    options = ("--tcp", f"127.0.0.1:{PORT}", "--identity", str(at / "agent"))
    with here.agent(*options):
        pid = within(here, at, "admin", status)
        with calling(here, old, "admin") as wrong, calling(here, at, "admin") as also:
            made = CliRunner().invoke(cli, ["certs", "rotate", str(at)])
            assert made.exit_code == 0 and "admin.pem" in made.output
            issue(at, "later", "read")
            for each, name in ((old, "admin"), (at, "admin"), (at, "later")):
                assert within(here, each, name, status) == pid
        assert not wrong and not also
        with calling(here, at, "admin") as wrong, calling(here, at, "later") as also:
            made = CliRunner().invoke(cli, ["certs", "retire", str(at)])
            assert made.exit_code == 0 and "agent.pem" in made.output
        assert not wrong and not also
        assert within(here, at, "admin", status) == within(here, at, "later", status) == pid
        assert refused(here, old, "admin") and refused(here, at, "thief")


def test_who_signed_what(tmp_path: Path) -> None:
    make_authority(tmp_path, ["192.0.2.7"])
    issue(tmp_path, "thief", "rules")
    revoke(tmp_path, tmp_path / "thief.pem")
    before = {name: of(tmp_path, name) for name in ("ca", "agent", "admin", "thief")}
    with pytest.raises(Refused, match="H0867"):
        retire(tmp_path)
    rotate(tmp_path)
    new, old = authorities(tmp_path)
    assert old == before["ca"] and new != old
    read_identity(tmp_path / "ca")  # its key is the new one's
    assert [each.name for each in read_expiries(tmp_path / "agent")] == [
        "agent",
        *["authority"] * 2,
    ]
    admin = of(tmp_path, "admin")
    admin.verify_directly_issued_by(new)
    assert admin.public_key() == before["admin"].public_key()
    assert names(admin) == names(before["admin"]) and admin.subject == before["admin"].subject
    assert (of(tmp_path, "agent"), of(tmp_path, "thief")) == (before["agent"], before["thief"])
    with pytest.raises(Refused, match="H0866"):
        rotate(tmp_path)
    retire(tmp_path)
    agent = of(tmp_path, "agent")
    agent.verify_directly_issued_by(new)
    assert names(agent) == names(before["agent"])
    assert authorities(tmp_path) == [new] and of(tmp_path, "thief") == before["thief"]
    rotate(tmp_path)
    retire(tmp_path)
    assert authorities(tmp_path) != [new]


def of(directory: Path, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificates((directory / f"{name}.pem").read_bytes())[0]


def authorities(directory: Path) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates((directory / "ca.pem").read_bytes())


def names(certificate: x509.Certificate) -> object:
    return certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value


class Killed(BaseException):
    pass


@pytest.mark.parametrize("command", [rotate, retire])
def test_it_may_be_interrupted_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[[Path], object]
) -> None:
    """What is there is good for agents and clients at each moment, and the command ends it."""
    made, steps = tmp_path / "made", 0
    make_authority(made, [])
    if command is retire:
        rotate(made)
    while True:
        at, left = tmp_path / f"at{steps}", steps
        shutil.copytree(made, at)

        def step(whole: Callable[..., object], path: Path, *rest: object, **named: bool) -> object:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return whole(path, *rest, **named)

        with monkeypatch.context() as patched:
            for name in ("rename", "unlink"):
                patched.setattr(Path, name, partialmethod(partial(step, getattr(Path, name))))
            try:
                command(at)
                ended = True
            except Killed:
                ended = False
        usable(at)
        if ended:
            break
        with_both = len(authorities(at)) == 2
        if command is rotate and with_both:
            with pytest.raises(Refused, match="H0866"):
                rotate(at)
            retire(at)
        elif command is rotate or with_both:
            command(at)
        usable(at)
        issue(at, "more", "read")
        steps += 1
    assert steps >= (5 if command is rotate else 2)


def usable(at: Path) -> None:
    """Each identity loads, and is by an authority that everybody here knows."""
    for name in ("agent", "admin"):
        read_identity(at / name)
        context = ssl.create_default_context(cafile=str(at / "ca.pem"))
        context.load_cert_chain(at / f"{name}.pem", at / f"{name}.key")
        known = authorities(at)
        assert any(by(of(at, name), each) for each in known)


def by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except Exception:
        return False
    return True
