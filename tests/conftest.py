"""What every test here can use, and the guard that no test leaves anything behind."""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import pkgutil
import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import helioc.compiler
import helioc.lang
import helioc.runtime
import pytest
from forks import forking
from golden import Golden
from lab import Lab
from leaks import BPFFS, PREFIX, Snapshot, leaked, remove_pins, snapshot, sweep

CI = os.environ.get("CI") == "true"
EMULATED = "HELIO_VM" in os.environ  # where to import takes seconds
_numbers = count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what the tests make to their cases and tests/golden in place of comparing it",
    )


_MACHINE = pytest.StashKey[Snapshot]()
_LEFT = pytest.StashKey[list[str]]()


def pytest_sessionstart(session: pytest.Session) -> None:
    # a shell's background jobs, and whatever they start, ignore it: commands would not end by it
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if CI and not hasattr(session.config, "workerinput"):
        session.config.stash[_MACHINE] = snapshot(prefix="")
    if not EMULATED:  # no test there draws anything, or compiles
        _import_all()
        _keep_objects(session.config)


#: Where all workers of a run keep what clang made.
_SHARED = "HELIO_KEPT_IN"


def _keep_objects(config: pytest.Config) -> None:
    """All workers of this run, and the commands that they start, compile what is the same once,
    also what modules of tests compile when they are imported. Later runs have it from there
    (`make clean` takes it away): an object is found by all that it was made of."""
    from compilations import MOST_MIB, kept_in

    kept = ExitStack()
    config.add_cleanup(kept.close)
    if _SHARED not in os.environ:  # workers start later, and find it there
        folder = kept.enter_context(TemporaryDirectory(prefix="helio-objects-"))
        ours = {_SHARED: folder, "XDG_CACHE_HOME": folder, "HELIOC_CACHE_MIB": str(MOST_MIB)}
        os.environ.update(ours)
        for name in ours:
            kept.callback(os.environ.pop, name)
        builds = Path(folder, "helio", "builds")
        builds.parent.mkdir()
        if (cache := getattr(config, "cache", None)) is not None:
            stays: Path = cache.mkdir("helio-builds")
            stays.chmod(0o700)
            builds.symlink_to(stays)
    kept.enter_context(kept_in(Path(os.environ[_SHARED], "helio", "builds")))


def _import_all() -> None:
    """Hypothesis draws constants that it finds in the modules that are loaded. One that a test
    loads would change what is drawn between two runs of an example, which it reports as flaky."""
    for room in (helioc.lang, helioc.compiler, helioc.runtime):
        for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            if not found.name.endswith(".__main__"):
                importlib.import_module(found.name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest first, above all virtual machines: who begins with one last is waited for
    by all other workers."""
    long = "tests/vm/", "tests/seeded/"
    items.sort(key=lambda item: not item.nodeid.startswith(long))


def pytest_collection_finish() -> None:
    """The modules and tests that are there now stay: to look through them for garbage again and
    again took a tenth of all time. What of a test is no longer reachable is found a little later
    than by default; `leaks` looks for it itself."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI nobody else is on the machine: a new name on it is a leak, whatever it begins with."""
    if before := session.config.stash.get(_MACHINE, None):
        session.config.stash[_LEFT] = snapshot(prefix="").names_since(before)
        if session.config.stash[_LEFT]:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if left := terminalreporter.config.stash.get(_LEFT, None):
        terminalreporter.section("left behind on this machine", red=True)
        terminalreporter.write_line("\n".join(left))


@pytest.fixture(autouse=True, scope="session")
def constants_stay() -> None:
    """Nor one that a test loads from elsewhere; Hypothesis has no setting for it."""
    if EMULATED:
        return
    from hypothesis.internal.conjecture import providers

    drawn = providers._get_local_constants()
    setattr(providers, "_get_local_constants", lambda: drawn)  # noqa: B010


@pytest.fixture(autouse=True)
def leaks_nothing() -> Iterator[None]:
    """Fail a test that leaves a descriptor, pin, namespace, device or process, however it ended."""
    before = snapshot()
    yield
    if found := leaked(before):
        sweep(before)
        pytest.fail("left behind by this test:\n  " + "\n  ".join(found), pytrace=False)


@pytest.fixture(autouse=True, scope="session")
def commands_fork() -> Iterator[None]:
    """Agents and `helioctl` begin with all modules there."""
    if EMULATED:
        yield
        return
    with forking():
        yield


@pytest.fixture(autouse=True, scope="session")
def session_leaks_nothing(commands_fork: None) -> Iterator[None]:
    """The same for fixtures that outlive a test."""
    before = snapshot()
    yield
    if found := leaked(before):
        sweep(before)
        pytest.fail(
            "left behind at the end of the session:\n  " + "\n  ".join(found), pytrace=False
        )


@pytest.fixture
def compiled_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The test is about compiling: clang runs each time."""
    from helioc.compiler.backend.cache import using

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # of commands
    with using(None):
        yield


@cache
def _why_no_kernel() -> str:
    """Why this process may not load programs, or an empty string if it may."""
    if os.geteuid() != 0:
        return "not root"
    if not os.path.ismount(BPFFS):
        return f"no bpffs is mounted at {BPFFS}"
    # bpf(BPF_MAP_CREATE) of a one-element array: the cheapest thing that needs what loading needs.
    array, size = (ctypes.c_uint32 * 32)(2, 4, 4, 1), 128
    libc = ctypes.CDLL(None, use_errno=True)
    number = {"x86_64": 321, "aarch64": 280}.get(os.uname().machine)
    if number is None:
        return f"the bpf system call of {os.uname().machine} is not known here"
    descriptor = libc.syscall(number, 0, array, size)
    if descriptor < 0:
        return f"the kernel refuses bpf(): {os.strerror(ctypes.get_errno())}"
    os.close(descriptor)
    return ""


@pytest.fixture(scope="session")
def kernel() -> None:
    """The test needs root and bpf. Without: skipped with the reason, or failed when CI=true."""
    if reason := _why_no_kernel():
        if CI:
            pytest.fail(f"CI must run every test, but {reason}", pytrace=False)
        pytest.skip(f"needs root and bpf: {reason}")


@pytest.fixture(scope="session")
def tshark() -> None:
    """The test needs tshark. Without: skipped with the reason, or failed when CI=true."""
    if shutil.which("tshark") is None:
        if CI:
            pytest.fail("CI must run every test, but there is no tshark", pytrace=False)
        pytest.skip("there is no tshark")


@pytest.fixture
def lab(kernel: None) -> Iterator[Lab]:
    """A network laboratory of this test's own (examples/lab.py)."""
    with Lab(f"{PREFIX}{next(_numbers)}-") as made:
        yield made


@pytest.fixture
def pins(kernel: None) -> Iterator[Path]:
    """An empty folder in bpffs of this test's own. Pins still there at its end are a leak."""
    folder = BPFFS / f"{PREFIX}{next(_numbers)}"
    folder.mkdir()
    yield folder
    if left := sorted(str(path) for path in folder.rglob("*")):
        remove_pins(folder)
        pytest.fail("pins left behind by this test:\n  " + "\n  ".join(left), pytrace=False)
    folder.rmdir()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """golden(case, shown=text): `text` is what the case's file has; --update-golden writes it."""
    return Golden(request.config.getoption("--update-golden"))
