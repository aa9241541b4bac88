"""What is drawn is accepted: each of these seeds once drew what `check` refuses."""

from __future__ import annotations

import pytest
from compare import checked
from random_pipeline import pipeline_text

REFUSED = {
    "202": "an index of an array that a test in front says is beyond its end (H0483)",
    "910027": "a comparison of a frame's length with more than programs see of it (H0349)",
}


@pytest.mark.parametrize("seed", REFUSED)
def test_what_check_refuses_is_not_drawn(seed: str) -> None:
    checked(pipeline_text(seed))
