"""The walls between the rooms: who may import what, and who may speak or stop."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GENERATED = ("lang/grammar/*", "runtime/rpc/control_pb2.py")
PLANES = ("lang", "compiler", "runtime", "commands")
FILES = sorted(
    path
    for path in (str(found.relative_to(ROOT)) for room in PLANES
                 for found in (ROOT / room).rglob("*.py"))
    if not any(fnmatch(path, pattern) for pattern in GENERATED)
)  # fmt: skip
ENTRY_POINTS = ("commands/command.py",)

# Who may import a room of this package: importers, the first that fits, then what they may have of
# it. Nothing imports the commands.
ROOMS = [
    ("lang/*", ("lang",)),
    ("compiler/*", ("lang", "compiler")),
    ("runtime/*", ("lang.contract", "lang.text", "runtime")),
    ("commands/*", PLANES),
]

# Syntax ends where it has been checked: what follows, and all it imports, knows models only.
BEYOND_CHECK = ("compiler/tables/*", "compiler/ir/*", "compiler/lower/*", "compiler/passes/*",
                "compiler/backend/*", "compiler/interpret/*", "lang/contract/*")  # fmt: skip

WIRE = ("runtime/client/*", "runtime/rpc/*")

# A library, and the only files that may import it.
LIBRARIES = {
    "antlr4": (
        "lang/syntax/parser.py",
        "lang/contract/request/request_parser.py",
        "lang/contract/request/request_antlr.py",
    ),
    "jinja2": ("compiler/backend/emit.py",),
    "lsprotocol": ("commands/language_server.py",),
    "pygls": ("commands/language_server.py",),
    "ctypes": (
        *[f"runtime/kernel/{name}.py" for name in ("libbpf", "structures", "system")],
        "runtime/http2/nghttp2.py",
    ),
    "grpc": (),
    "grpc_health": WIRE,
    "grpc_reflection": WIRE,
    "google": WIRE,
    "cryptography": (
        "runtime/base/certs.py",
        "runtime/base/identity.py",
        "runtime/base/rotation.py",
        "runtime/enrolment/certificates.py",
    ),
    "prometheus_client": (
        "runtime/observe/metrics.py",
        "runtime/observe/metrics_server.py",
        "runtime/services/counts.py",
    ),
    "kubernetes": ("runtime/services/api.py",),
    "click": ("commands/*",),
    "scapy": (),
    "pytest": (),
    "hypothesis": ("compiler/fuzzing/*", "commands/packet_runs.py"),
}


#: Imports in functions, by top folder: no more than these. At the head of a file they cost each
#: command start-up time, or form a ring.
DEFERRED = {"lang": 6, "compiler": 18, "runtime": 89, "commands": 180}
#: Where each function with some says why, in a comment at the first of them.
REASONED = ("lang/*", "runtime/owner/*")


def any_match(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(path, pattern) for pattern in patterns)


def imports(path: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and dotted name of each import; names within the package lose their `helioc.`.

    `from ..lang import tree` counts as `lang.tree`, for a module may hide behind each name.
    """
    here = path.removesuffix(".py").split("/")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                whole = f"{module}.{alias.name}" if module else alias.name
                yield node.lineno, whole if is_module(whole) else module or whole


def is_module(dotted: str) -> bool:
    path = ROOT / dotted.replace(".", "/")
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def wall(path: str, tree: ast.AST) -> Iterator[str]:
    """Each import of `path` that goes through a wall, in words."""
    for line, name in imports(path, tree):
        top, where = name.split(".")[0], f"{path}:{line}: imports {name}"
        if top == "helioc":
            yield f"{where}: inside the package imports are relative"
        if top in PLANES:
            allowed = next(open_to for importers, open_to in ROOMS if fnmatch(path, importers))
            if not any(fnmatch(name, room) or name.startswith(f"{room}.") for room in allowed):
                yield f"{where}: {path.split('/')[0]} may import only {', '.join(allowed)}"
        if name.startswith("lang.tree") and any_match(path, BEYOND_CHECK):
            yield f"{where}: syntax ends where it has been checked"
        if name.startswith("lang.grammar") and not any_match(path, LIBRARIES["antlr4"]):
            yield f"{where}: only for {', '.join(LIBRARIES['antlr4'])}"
        if path == "compiler/backend/emit.py" and name.startswith("compiler.model"):
            yield f"{where}: what is printed is lowered first"
        if top in LIBRARIES and not any_match(path, LIBRARIES[top]):
            yield f"{where}: only for {', '.join(LIBRARIES[top]) or 'tests'}"


SPEAKING = {
    "print", "exit", "quit", "breakpoint", "input",
    "sys.exit", "os._exit", "os.abort", "sys.stdout.write", "sys.stderr.write",
    "traceback.print_exc", "traceback.print_exception",
}  # fmt: skip


def voice(path: str, tree: ast.AST) -> Iterator[str]:
    """Each place in `path` that prints or exits, which is for the entry points alone."""
    if path in ENTRY_POINTS:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in SPEAKING:
            yield f"{path}:{node.lineno}: calls {ast.unparse(node.func)}"
        elif isinstance(node, ast.Raise) and node.exc and "SystemExit" in ast.unparse(node.exc):
            yield f"{path}:{node.lineno}: raises SystemExit"


def syntax_beyond_check(files: dict[str, ast.AST]) -> Iterator[str]:
    """Each way from behind the checker to `lang.tree`, through whichever files of the compiler."""
    ways = [(path, path) for path in files if any_match(path, BEYOND_CHECK)]
    seen: set[str] = set()
    while ways:
        path, way = ways.pop()
        if path in seen:
            continue
        seen.add(path)
        for _, name in imports(path, files[path]):
            if name.startswith("lang.tree"):
                yield f"{way} → {name}"
            module = name.replace(".", "/")
            for file in (f"{module}.py", f"{module}/__init__.py"):
                if name.startswith("compiler.") and file in files:
                    ways.append((file, f"{way} → {file}"))


@pytest.fixture(scope="module")
def files() -> dict[str, ast.AST]:
    """Every file of the package, parsed; the generated ones left out."""
    return {path: ast.parse((ROOT / path).read_text()) for path in FILES}


@pytest.mark.parametrize("rule", [wall, voice])
def test_the_walls_stand(
    rule: Callable[[str, ast.AST], Iterator[str]], files: dict[str, ast.AST]
) -> None:
    broken = [fault for path, tree in files.items() for fault in rule(path, tree)]
    assert not broken, "\n".join(broken)


def test_syntax_ends_where_it_is_checked(files: dict[str, ast.AST]) -> None:
    broken = list(syntax_beyond_check(files))
    assert not broken, "\n".join(broken)
    beyond = {
        "compiler/lower/unit.py": "from .. import model",
        "compiler/model/__init__.py": "from .values import Expr",
        "compiler/model/values.py": "import lang.tree",
    }
    parsed: dict[str, ast.AST] = {path: ast.parse(text) for path, text in beyond.items()}
    assert list(syntax_beyond_check(parsed)) == [
        "compiler/lower/unit.py → compiler/model/__init__.py → compiler/model/values.py → lang.tree"
    ]


def folders(files: dict[str, ast.AST]) -> dict[str, dict[str, str]]:
    """Of each folder, those that its files import from, and where it says so."""
    found: dict[str, dict[str, str]] = {}
    for path, tree in files.items():
        here = found.setdefault(path.rpartition("/")[0], {})
        for line, name in imports(path, tree):
            if name.split(".")[0] in PLANES:
                there = name.replace(".", "/")
                if not (ROOT / there).is_dir():
                    there = there.rpartition("/")[0]
                here.setdefault(there, f"{path}:{line}: imports {name}")
    return {folder: {k: v for k, v in of.items() if k != folder} for folder, of in found.items()}


def ring(graph: dict[str, dict[str, str]]) -> list[str]:
    """The imports by which a folder comes to itself again; empty where none does."""
    done: set[str] = set()

    def search(folder: str, way: list[str], lines: list[str]) -> list[str]:
        if folder in way:
            return lines[way.index(folder) :]
        if folder in done:
            return []
        for other, line in graph.get(folder, {}).items():
            if found := search(other, [*way, folder], [*lines, line]):
                return found
        done.add(folder)
        return []

    return next((found for folder in graph if (found := search(folder, [], []))), [])


def test_folders_form_no_ring(files: dict[str, ast.AST]) -> None:
    """Imports in functions and for type checkers count, too."""
    graph = folders(files)
    assert not (found := ring(graph)), "\n".join(found)
    assert len(graph) > 30 and graph["runtime/agent"] and not graph["lang/text"]
    assert ring({"a": {"b": "1"}, "b": {"c": "2"}, "c": {"b": "3"}}) == ["2", "3"]


def test_files_form_no_ring(files: dict[str, ast.AST]) -> None:
    """Imports in functions and for type checkers count, too."""
    graph = {
        path: {
            there: f"{path}:{line}: imports {name}" for line, name in imports(path, tree)
            if (there := f"{name.replace('.', '/')}.py") in files
        }
        for path, tree in files.items()
    }  # fmt: skip
    assert not (found := ring(graph)), "\n".join(found)
    assert graph["runtime/owner/owner.py"]["runtime/owner/large.py"]


def deferred(tree: ast.AST) -> Iterator[list[int]]:
    """Of each function that imports something, the lines of these imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = (
                each for each in ast.walk(node) if isinstance(each, ast.Import | ast.ImportFrom)
            )
            if lines := sorted(each.lineno for each in inner):
                yield lines


@pytest.mark.parametrize("top", PLANES)
def test_few_imports_are_deferred(top: str, files: dict[str, ast.AST]) -> None:
    found = {
        (path, line) for path, tree in files.items() if path.startswith(f"{top}/")
        for lines in deferred(tree) for line in lines
    }  # fmt: skip
    assert len(found) <= DEFERRED[top], "\n".join(f"{path}:{line}" for path, line in sorted(found))


def test_deferred_imports_have_a_reason(files: dict[str, ast.AST]) -> None:
    for path, tree in files.items():
        if any_match(path, REASONED):
            text = (ROOT / path).read_text().splitlines()
            for first, *_ in deferred(tree):
                assert "#" in text[first - 1], f"{path}:{first}: why is the import in a function?"


def rooms(page: str) -> dict[str, int]:
    """The folders of docs/architecture.md, and files that stand there by themselves: their rows."""
    rows = re.findall(r"^\| (`(?:lang|compiler|runtime|commands).*?`) \|", page, re.MULTILINE)
    found = dict[str, int]()
    for number, row in enumerate(rows):
        first, *others = re.findall("`([^`]+)`", row)
        found[first] = number
        for name in others:
            found[name if "/" in name else f"{first.rpartition('/')[0]}/{name}"] = number
    return found


def test_the_map_is_true(files: dict[str, ast.AST]) -> None:
    """docs/architecture.md has every folder, and each imports only from those above it."""
    order = rooms((ROOT / "docs" / "architecture.md").read_text())

    def row(path: str) -> int:
        return order[path] if path in order else order[path.rpartition("/")[0]]

    left_out = ("*__init__.py",)  # what describes a folder
    broken = [
        f"{path}:{line}: imports {name}"
        for path, tree in files.items() if not any_match(path, left_out)
        for line, name in imports(path, tree) if name.split(".")[0] in PLANES
        for there in [f"{name.replace('.', '/')}.py"]
        if (ROOT / there).exists() and not any_match(there, left_out) and row(there) > row(path)
    ]  # fmt: skip
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("lang/syntax/printer.py", "from ...compiler import model"),
        ("lang/syntax/printer.py", "from ...compiler.model import Pipeline"),
        ("lang/syntax/printer.py", "from ... import runtime"),
        ("lang/syntax/printer.py", "def f():\n    import antlr4"),
        ("compiler/lower/unit.py", "from ...runtime.kernel.libbpf import BpfError"),
        ("compiler/lower/unit.py", "from ...lang.tree import Program"),
        ("compiler/lower/fuse.py", "from ...lang import tree"),
        ("compiler/backend/emit.py", "from ..model import Pipeline"),
        ("compiler/driver.py", "from ..commands.packet_runs import summary"),
        ("lang/contract/manifest/manifest.py", "from ...grammar.HelioParser import HelioParser"),
        ("compiler/check/program.py", "from helioc.lang import tree"),
        ("compiler/check/program.py", "from jinja2.sandbox import SandboxedEnvironment"),
        ("runtime/rules/codec.py", "from ...compiler.model import Pipeline"),
        ("runtime/rules/codec.py", "from ...lang.syntax.parser import parse"),
        ("runtime/rules/codec.py", "if TYPE_CHECKING:\n    from ...lang import tree"),
        ("runtime/loading/loader.py", "import ctypes.util"),
    ],
)
def test_a_hole_is_seen(path: str, source: str) -> None:
    assert list(wall(path, ast.parse(source)))


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("lang/syntax/parser.py", "from antlr4 import Token\nfrom ..tree import Program"),
        ("compiler/check/program.py", "from ...lang import tree\nfrom .. import model"),
        ("compiler/nfp/xdp.py", "from ..lower.lowered import Unit\nimport struct"),
        ("runtime/rules/codec.py", "from ...lang.contract.manifest import manifest\nimport struct"),
        ("commands/helioctl.py", "from ..runtime.client import Client\nimport click"),
    ],
)
def test_a_door_is_open(path: str, source: str) -> None:
    assert not list(wall(path, ast.parse(source)))
