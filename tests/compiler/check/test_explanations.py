"""Every explanation's wrong example gets its code, every right one is accepted."""

from __future__ import annotations

import pytest
from check_frame import checked, framed
from explained import explained

EXPLANATIONS = explained("check")
WITH_EXAMPLES = sorted(code for code, e in EXPLANATIONS.items() if e.wrong)
#: What no short text can show; each has a test of its own in test_cases.py or test_files.py.
WITHOUT = {"H0202", "H0208", "H0217", "H0218", "H0367"}


@pytest.mark.parametrize("code", WITH_EXAMPLES)
def test_wrong_example_gets_the_code(code: str) -> None:
    _, found = checked(framed(EXPLANATIONS[code].wrong))
    assert code in {d.code for d in found}, [f"{d.code} {d.title}" for d in found]


@pytest.mark.parametrize("code", [c for c in WITH_EXAMPLES if EXPLANATIONS[c].right])
def test_right_example_is_accepted(code: str) -> None:
    pipeline, found = checked(framed(EXPLANATIONS[code].right))
    assert pipeline is not None, [f"{d.code} {d.title}" for d in found]
    assert code not in {d.code for d in found}


def test_every_code_has_an_example() -> None:
    assert set(EXPLANATIONS) - set(WITH_EXAMPLES) == WITHOUT
