"""Where the ports of each role are attached: `ports uplink at xdp, pod at tc.ingress`."""

from __future__ import annotations

from collections.abc import Sequence

from ...lang import tree
from ...lang.contract.manifest.manifest import ATTACH_POINTS, AttachPoint
from ...lang.text.diagnostics import Diagnostic, Diagnostics, did_you_mean, error, ticked

_OTHERS = {
    "tc": "tc.ingress", "ingress": "tc.ingress", "egress": "tc.egress", "tcx": "tc.ingress",
    "tcx.ingress": "tc.ingress", "tcx.egress": "tc.egress", "clsact": "tc.ingress",
    "native": "xdp", "driver": "xdp",
}  # fmt: skip


def attach_points(roles: Sequence[tree.Role], found: Diagnostics) -> tuple[AttachPoint, ...]:
    """Of each role, once; nothing where all are at XDP."""
    made = dict[str, AttachPoint]()
    for role in roles:
        made.setdefault(role.name.text, _attach_point(role, found))
    points = tuple(made.values())
    return points if any(point != "xdp" for point in points) else ()


def _attach_point(role: tree.Role, found: Diagnostics) -> AttachPoint:
    if role.at is None:
        return "xdp"
    if role.at.text in ATTACH_POINTS:
        return role.at.text
    found.add(_unknown(role.at))
    return "xdp"


def _unknown(at: tree.Path) -> Diagnostic:
    if (meant := _OTHERS.get(at.text.lower())) is not None:
        help_ = f"write `at {meant}`"
    else:
        help_ = did_you_mean(at.text, ATTACH_POINTS) or f"there are {ticked(ATTACH_POINTS)}"
    title = f"ports cannot be attached at `{at.text}`"
    return error("H0560", title, (at.span, "no attach point"), help=help_)
