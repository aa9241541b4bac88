"""Explanations of error codes: `errors/H0274.md` has title, text and examples.

A file is read when its code is explained. Its form, with nothing else in it:

    # a match is not exhaustive

    met: check
    status: INVALID_ARGUMENT

    Paragraphs.

    ```wrong
    an example that gets the code
    ```

    ```right
    the same without
    ```

`met` is one of `AREAS`. `status` is the gRPC status of a code that the agent may answer with. An
example is left out where no text could show the error.
"""

from __future__ import annotations

import re
import textwrap
from contextlib import suppress
from pathlib import Path

from .diagnostics import Diagnostic, Refused, did_you_mean
from .frozen import Frozen

FOLDER = Path(__file__).resolve().parents[2] / "errors"
#: Where an error occurs.
AREAS = frozenset(
    "syntax;check;build;card;packet test;capture;command;request;carrier;edge;load;tables;kernel;"
    "agent;enrolment;journal;upgrade;intent;trace;wanted;services;anywhere".split(";")
)
_FORM = re.compile(
    r"# (?P<title>[^\n]*[^\n.])\n\n"
    r"met: (?P<met>[a-z ]+)\n(?:status: (?P<status>[A-Z_]+)\n)?"
    r"(?P<text>(?:\n(?:(?!```)\S[^\n]*\n)+)+)"
    r"(?:\n```wrong\n(?P<wrong>(?:(?!```)[^\n]*\n)+)```\n)?"
    r"(?:\n```right\n(?P<right>(?:(?!```)[^\n]*\n)+)```\n)?"
)


class Malformed(Exception):
    """A file of `errors/` in another form."""


class Explanation(Frozen):
    """`text` has paragraphs with an empty line between them, each one line. `status` is empty for
    codes that the agent does not use; missing examples are empty."""

    title: str
    met: str
    status: str
    text: str
    wrong: str
    right: str

    def render(self, code: str) -> str:
        """The whole explanation as text for a terminal."""
        paragraphs = (textwrap.fill(p, 80) for p in self.text.split("\n\n"))
        parts = [f"{code}: {self.title}", *paragraphs]
        for heading, example in (("Wrong:", self.wrong), ("Right:", self.right)):
            if example:
                body = "\n".join(f"    {line}".rstrip() for line in example.split("\n"))
                parts.append(f"{heading}\n\n{body}")
        return "\n\n".join(parts) + "\n"


def read(text: str) -> Explanation:
    """A file's text. Raises `Malformed`."""
    found = _FORM.fullmatch(text)
    if found is None or found["met"] not in AREAS:
        raise Malformed(text.partition("\n")[0])
    paragraphs = found["text"].strip("\n").split("\n\n")
    return Explanation(
        title=found["title"], met=found["met"], status=found["status"] or "",
        text="\n\n".join(p.replace("\n", " ") for p in paragraphs),
        wrong=(found["wrong"] or "")[:-1], right=(found["right"] or "")[:-1],
    )  # fmt: skip


def codes() -> list[str]:
    """All codes, sorted."""
    return sorted(path.stem for path in FOLDER.glob("H[0-9][0-9][0-9][0-9].md"))


def explanation(code: str) -> Explanation:
    """The explanation of a code, in upper or lower case. Raises `Refused` (H0308)."""
    name = code.upper()
    if re.fullmatch("H[0-9]{4}", name):
        with suppress(FileNotFoundError):
            return _read_file(name)
    help_ = did_you_mean(code, codes()) or "`helioc explain` lists the codes"
    raise Refused([Diagnostic("H0308", f"there is no code {code}", (), help_)])


def titles() -> list[tuple[str, str]]:
    """(code, title) of all codes."""
    return [(code, _read_file(code).title) for code in codes()]


def statuses() -> dict[str, str]:
    """gRPC status by code, for codes that have one."""
    return {code: status for code in codes() if (status := _read_file(code).status)}


def _read_file(code: str) -> Explanation:
    return read((FOLDER / f"{code}.md").read_text("utf-8"))
