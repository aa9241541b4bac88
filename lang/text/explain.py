"""What `helioc explain` says about a code."""

from __future__ import annotations

import textwrap

from .frozen import Frozen


class Explanation(Frozen):
    """`title` is a line, `text` paragraphs with an empty line between them; `wrong` is an example
    that gets the code and `mended` the same without. Either example may be empty where no text
    could show it."""

    title: str
    text: str
    wrong: str = ""
    mended: str = ""

    def render(self, code: str) -> str:
        """The whole explanation as text for a terminal."""
        paragraphs = (textwrap.fill(p, 80) for p in self.text.split("\n\n"))
        parts = [f"{code}: {self.title}", *paragraphs]
        for heading, example in (("Wrong:", self.wrong), ("Mended:", self.mended)):
            if example:
                body = "\n".join(f"    {line}".rstrip() for line in example.strip("\n").split("\n"))
                parts.append(f"{heading}\n\n{body}")
        return "\n\n".join(parts) + "\n"
