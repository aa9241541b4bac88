"""Every error of the checker by code, and what `helioc explain` says about each.

The functions that make the diagnostics stand in `faults_*.py`, by area; the explanations beside
them in `explain_*.py`, so that a check does not load them.
"""

from __future__ import annotations

from ...lang.text.explain import Explanation
from .explain_changes import CHANGES
from .explain_files import FILES
from .explain_graph import GRAPH
from .explain_headers import HEADERS
from .explain_rules import RULES
from .explain_stages import STAGES
from .explain_states import STATES

EXPLANATIONS: dict[str, Explanation] = {
    **FILES,
    **GRAPH,
    **HEADERS,
    **RULES,
    **STAGES,
    **CHANGES,
    **STATES,
}
