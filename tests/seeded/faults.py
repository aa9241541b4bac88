"""The seeded faults (faults.yaml)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import yaml


class Fault(NamedTuple):
    """`text` of `file`, wherever it stands there, becomes `instead`."""

    name: str
    file: str
    text: str
    instead: str


FAULTS = [Fault(**said) for said in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())]
