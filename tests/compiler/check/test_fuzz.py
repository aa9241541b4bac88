"""Thousands of damaged pipelines: each is checked or refused, and nothing else happens.

HELIO_MUTATIONS times as many are tried: `make nightly`.
"""

from __future__ import annotations

import os
import random
import re
from time import process_time

import pytest
from check_frame import checked, framed
from helioc.compiler.check.resolve import PIPELINES
from helioc.lang.text.render import render

LINX = re.sub(r"//.*", "", (PIPELINES / "linx.hp").read_text())
TOKENS = re.findall(r"\w+|\s+|->|=>|\.\.|.", LINX)
WORDS = [*sorted({t for t in TOKENS if t.strip()}), "0", "4294967296", "10.0.0.1", "_", "u65"]
LINES = LINX.split("\n")
TIMES = 50 * int(os.environ.get("HELIO_MUTATIONS", "1"))


def _by_tokens(dice: random.Random) -> str:
    tokens = TOKENS.copy()
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        at = dice.randrange(len(tokens))
        while not tokens[at].strip():
            at = dice.randrange(len(tokens))
        match dice.randrange(4):
            case 0:
                tokens[at] = dice.choice(WORDS)
            case 1:
                tokens[at] = ""
            case 2:
                tokens.insert(at, f" {dice.choice(WORDS)} ")
            case _:
                other = dice.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
    return "".join(tokens)


def _by_lines(dice: random.Random) -> str:
    lines = LINES.copy()
    for _ in range(dice.choice((1, 1, 2, 3))):
        at, other = dice.randrange(len(lines)), dice.randrange(len(lines))
        match dice.randrange(3):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[other])
            case _:
                lines[at], lines[other] = lines[other], lines[at]
    return "\n".join(lines)


def _by_names(dice: random.Random) -> str:
    """One name for another of the same text: what parses most often."""
    names = sorted({t for t in TOKENS if t.isidentifier()})
    old, new = dice.choice(names), dice.choice(names)
    places = [i for i, t in enumerate(TOKENS) if t == old]
    chosen = set(dice.sample(places, dice.randint(1, len(places))))
    return "".join(new if i in chosen else t for i, t in enumerate(TOKENS))


@pytest.mark.parametrize("mutate", [_by_tokens, _by_lines, _by_names])
@pytest.mark.parametrize("seed", range(4))
def test_damaged_linx(mutate: object, seed: int) -> None:
    assert callable(mutate)
    dice = random.Random(seed)
    for _ in range(TIMES):
        text = mutate(dice)
        start = process_time()
        pipeline, found = checked(text)
        assert process_time() - start < 5, text
        if pipeline is None:
            assert any(d.severity == "error" for d in found), text
        for d in found:
            assert render(d)


def test_undamaged_linx_is_accepted() -> None:
    assert checked(framed(LINX))[0] is not None
