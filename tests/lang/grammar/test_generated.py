"""The generated parsers are what the grammars generate, and lexer.py makes the grammar's tokens."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import helioc
import pytest
from antlr4 import InputStream
from helioc.lang.grammar.HelioLexer import HelioLexer
from helioc.lang.grammar.HelioParser import HelioParser
from helioc.lang.syntax.lexer import lex
from helioc.lang.syntax.parser import read
from helioc.lang.text.source import Source
from hypothesis import given, settings
from hypothesis import strategies as st

GRAMMAR = Path(helioc.__file__).parent / "lang" / "grammar"


def test_generated_files_are_fresh(tmp_path: Path) -> None:
    missing = [tool for tool in ("java", "mvn") if not shutil.which(tool)]
    if missing and os.environ.get("CI") != "true":
        pytest.skip(f"needs {' and '.join(missing)} to generate the parsers anew")
    run = subprocess.run(
        [GRAMMAR / "generate.sh", tmp_path], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stdout + run.stderr
    generated = {p.name: p.read_text() for p in tmp_path.glob("*er.py")}
    committed = {p.name: p.read_text() for p in GRAMMAR.glob("*er.py")}
    assert generated.keys() == committed.keys()
    for name, text in generated.items():
        assert text == committed[name], f"{name} is stale: run lang/grammar/generate.sh"


def test_grammar_is_ll1_but_for_max() -> None:
    assert (GRAMMAR / "HelioParser.py").read_text().count("adaptivePredict") == 1


def by_grammar(text: str) -> list[str]:
    lexer = HelioLexer(InputStream(text))
    lexer.removeErrorListeners()
    hidden = (HelioLexer.STRAY, HelioLexer.BLOCK)
    return [t.text for t in lexer.getAllTokens() if t.channel == 0 and t.type not in hidden]


def kinds_by_grammar(text: str) -> list[str]:
    names = HelioParser.symbolicNames
    lexer = HelioLexer(InputStream(text))
    lexer.removeErrorListeners()
    hidden = (HelioLexer.STRAY, HelioLexer.BLOCK)
    tokens = [t for t in lexer.getAllTokens() if t.channel == 0 and t.type not in hidden]
    return [names[t.type] if names[t.type] != "<INVALID>" else t.text for t in tokens]


def kinds_by_lexer(text: str) -> list[str]:
    keywords = {name.strip("'") for name in HelioParser.literalNames}
    tokens = lex(Source("t.hp", text)).tokens[:-1]
    return [t.text if t.kind == "IDENT" and t.text in keywords else t.kind for t in tokens]


def check(text: str) -> None:
    assert [t.text for t in lex(Source("t.hp", text)).tokens[:-1]] == by_grammar(text)
    assert kinds_by_lexer(text) == kinds_by_grammar(text)


def test_tokens_of_the_samples(sample: Path) -> None:
    check(read(sample).text)


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from('aex09.:_-><=!&|/*(){}[], \n\t\r;"kM+é\0'), max_size=40))
def test_tokens_of_anything(text: str) -> None:
    check(text)
