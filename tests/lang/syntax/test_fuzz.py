"""Whatever is in a file, the answer is a tree or diagnostics to be shown, and it comes soon.

HELIO_MUTATIONS times as many files are tried: `make nightly`.
"""

from __future__ import annotations

import os
import random
import re
import time
from pathlib import Path

from helioc.lang.syntax.parser import parse, read
from helioc.lang.syntax.printer import format_program
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.render import render_all
from helioc.lang.text.source import Source

TIMES = 100 * int(os.environ.get("HELIO_MUTATIONS", "1"))
SOON = 1.0
"""Seconds, on a machine that has other things to do."""
WORDS = [
    *"{ } ( ) [ ] : = , | & / . .. -> => < <= != >> * + - // /// /* \0 \ufeff é 漢 ; '".split(),
    *"17 0x 64k 10.0.0.1 :: a:b: 1.2 if else match when on as is and or not find push pop".split(),
    *"send reply pass stage rule ie header pipeline parser import run gives spread max".split(),
    *"size payload named ie_ fnd stge".split(),
    *("\n", "\r", "\t", "\n\n", " ", "\u2028"),
]


def mutated(text: str, others: list[str], choice: random.Random) -> str:
    """`text` after one to four accidents: words lost, doubled, swapped, strewn in, or cut off."""
    words = re.findall(r"\w+|\s+|[^\w\s]", text)
    for _ in range(choice.randint(1, 4)):
        i, j = sorted(choice.randrange(len(words) + 1) for _ in range(2))
        j = min(j, i + choice.choice((1, 2, 5, 40)))
        what = choice.randrange(8)
        if what == 0:
            del words[i:j]
        elif what == 1:
            words[i:i] = words[i:j]
        elif what == 2:
            words[i:j] = reversed(words[i:j])
        elif what == 3:
            words[i:j] = choice.choice(others).split(" ")[:40]
        elif what == 4:
            words = words[: max(1, j)]
        elif what == 5:
            words[i:j] = ["".join(choice.sample(WORDS, 3))]
        else:
            words[i:i] = [choice.choice(WORDS)]
        if not words:
            words = [" "]
    return "".join(words)


def answer(text: str) -> bool:
    """Parse, then format or render. Whether it parsed."""
    start = time.process_time()
    try:
        format_program(parse(Source("fuzz.hp", text)))
        return True
    except Refused as refused:
        assert refused.diagnostics
        assert all(d.code.startswith(("H01", "H0447")) and d.span for d in refused.diagnostics)
        assert render_all(refused.diagnostics, colour=True)
        return False
    finally:
        assert time.process_time() - start < SOON


def test_mutated_samples(sample: Path) -> None:
    text = read(sample).text
    others = [p.read_text() for p in sample.parent.glob("*.hp")]
    choice = random.Random(sample.stem)
    parsed = 0
    for _ in range(TIMES):
        changed = mutated(text, others, choice)
        try:
            parsed += answer(changed)
        except BaseException:
            print(changed)  # noqa: T201 - pytest shows it with the failure
            raise
    assert 0 < parsed < TIMES


def test_word_soup() -> None:
    choice = random.Random(7)
    for _ in range(TIMES):
        frame = choice.choice(("{}", "header h {{ {} }}", "pipeline p {{ {} }}",
                               "pipeline p {{ stage s {{ {} }} }}"))  # fmt: skip
        soup = " ".join(choice.choices([*WORDS, "a", "b"], k=choice.randint(1, 60)))
        answer(frame.format(soup))
