"""The sections of the edge's YAML, in the order in which they are read and kept."""

from __future__ import annotations

from typing import Any

from .congestion_settings import CONGESTION
from .icmp_settings import ICMP
from .liveness_settings import LIVENESS
from .push_settings import PUSH
from .sections import Section

SECTIONS: tuple[Section[Any], ...] = (ICMP, LIVENESS, CONGESTION, PUSH)
