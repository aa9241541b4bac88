"""Files of errors/: their form, and what is refused of another."""

from __future__ import annotations

import pytest
from helioc.lang.text.errors import Malformed, codes, read, titles

WHOLE = """# a title

met: check
status: ABORTED

The first paragraph has
two lines.

`The` second one.

```wrong
if a {

  drop }
```

```right
drop
```
"""


def test_a_file_is_read() -> None:
    found = read(WHOLE)
    assert found.render("H1234") == (
        "H1234: a title\n\nThe first paragraph has two lines.\n\n`The` second one.\n\n"
        "Wrong:\n\n    if a {\n\n      drop }\n\nRight:\n\n    drop\n"
    )
    assert (found.met, found.status) == ("check", "ABORTED")
    bare = read(WHOLE.replace("status: ABORTED\n", "").partition("\n```")[0])
    assert (bare.status, bare.wrong, bare.right) == ("", "", "")


def test_all_files_are_read() -> None:
    assert [code for code, _ in titles()] == codes()
    assert len(codes()) > 300


@pytest.mark.parametrize(
    ("what", "other"),
    [
        ("# a title", "a title"),
        ("# a title", "# "),
        ("# a title", "# a title."),
        ("# a title\n", "# a title\nof two lines\n"),
        ("met: check\n", ""),
        ("met: check", "met: nowhere"),
        ("met: check", "met:check"),
        ("met: check\n", "met: check\nmet: check\n"),
        ("status: ABORTED", "status: Aborted"),
        ("status: ABORTED", "state: ABORTED"),
        ("met: check\nstatus: ABORTED", "status: ABORTED\nmet: check"),
        ("The first paragraph has\ntwo lines.\n\n`The` second one.\n\n", ""),
        ("The first", " The first"),
        ("\n\n`The`", "\n\n\n`The`"),
        ("```wrong", "```"),
        ("```wrong", "```hp"),
        ("  drop }\n```\n", "  drop }\n"),
        ("```wrong", "```right"),
        ("```right\ndrop\n```\n", "```right\ndrop\n```"),
        ("```right\ndrop\n```\n", "```right\ndrop\n```\nmore\n"),
        ("```right\ndrop\n```\n", "```right\n```\n"),
        ("\n", "\r\n"),
    ],
)
def test_another_form_is_refused(what: str, other: str) -> None:
    assert what in WHOLE
    with pytest.raises(Malformed):
        read(WHOLE.replace(what, other))
