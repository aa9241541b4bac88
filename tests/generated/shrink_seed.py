"""PYTHONPATH=tests/support python tests/generated/shrink_seed.py SEED

Its pipeline, as small as its failure allows."""

from __future__ import annotations

import re
import sys

from campaign import try_text
from compare import Disagreement, Tally
from random_pipeline import pipeline_text
from shrink import shrink


def shrunk(seed: int | str, most: int = 400) -> tuple[str, str]:
    """The smallest text found, and what is wrong with it."""
    last: dict[str, str] = {}

    def fails(text: str) -> str | None:
        try:
            try_text(text, seed, Tally())
        except Disagreement as error:
            last[text] = str(error)
            return _sort(str(error))
        except Exception as error:  # a crash is a fault as well, to be made small like others
            last[text] = repr(error)
            return f"crash {type(error).__name__}"
        return None

    small = re.sub(r"(\n *)+\n", "\n", shrink(pipeline_text(seed), fails, most))
    return small, last.get(small, "")


def _sort(error: str) -> str:
    """What stays the same while the pipeline shrinks."""
    if error.startswith("refused"):
        return error[:25]
    if error.startswith("does not load"):
        return re.sub(r"[\d`\[].*", "", error[:70])
    return "differs"


if __name__ == "__main__":
    for part in shrunk(sys.argv[1]):
        sys.stdout.write(part + "\n")
