"""Every error of the checker by code, and what `helioc explain` says about each.

The functions that make the diagnostics stand in `faults_*.py`, by area; the explanations beside
them in `explain_*.py`, so that a check does not load them.
"""

from __future__ import annotations

from ..lang.explain import Explanation
from .checking.explain_changes import CHANGES
from .checking.explain_files import FILES
from .checking.explain_graph import GRAPH
from .checking.explain_headers import HEADERS
from .checking.explain_rules import RULES
from .checking.explain_stages import STAGES
from .checking.explain_states import STATES

EXPLANATIONS: dict[str, Explanation] = {
    **FILES,
    **GRAPH,
    **HEADERS,
    **RULES,
    **STAGES,
    **CHANGES,
    **STATES,
}
