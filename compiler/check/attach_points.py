"""Where the ports of each role are attached: `ports uplink at xdp, pod at tc.ingress`; and what
their packets begin with: `tunnel at tc.ingress link ip`."""

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


def bare_roles(roles: Sequence[tree.Role], found: Diagnostics) -> tuple[str, ...]:
    """Those of `link ip`, once."""
    made = dict[str, bool]()
    for role in roles:
        made.setdefault(role.name.text, _is_bare(role, found))
    return tuple(name for name, bare in made.items() if bare)


def _is_bare(role: tree.Role, found: Diagnostics) -> bool:
    if role.link is None or role.link.text == "ethernet":
        return False
    if role.link.text != "ip":
        found.add(_unknown_link(role.link))
    elif role.at is None or role.at.text != "tc.ingress":
        found.add(_not_here(role))
    return True


_LINKS = ("ethernet", "ip")
_CALLED = {
    "none": "ip", "l3": "ip", "raw": "ip", "tun": "ip", "ether": "ethernet", "l2": "ethernet",
}  # fmt: skip


def _unknown_link(link: tree.Name) -> Diagnostic:
    if (meant := _CALLED.get(link.text.lower())) is not None:
        help_ = f"write `link {meant}`"
    else:
        help_ = did_you_mean(link.text, _LINKS) or f"there are {ticked(_LINKS)}"
    title = f"packets of a port cannot begin with `{link.text}`"
    return error("H0551", title, (link.span, "no link"), help=help_)


def _not_here(role: tree.Role) -> Diagnostic:
    """Where packets without link headers cannot be."""
    name, at = role.name.text, role.at.text if role.at else "xdp"
    why = "XDP is given frames, and sends nothing else"
    if at == "tc.egress":
        why = "nothing takes a link header off again there"
    return error(
        "H0552", f"`{name}` is at {at}, where packets have Ethernet headers",
        (role.at.span if role.at else role.name.span, why),
        help=f"`link ip` is for tc.ingress: `{name} at tc.ingress link ip`",
    )  # fmt: skip


def _unknown(at: tree.Path) -> Diagnostic:
    if (meant := _OTHERS.get(at.text.lower())) is not None:
        help_ = f"write `at {meant}`"
    else:
        help_ = did_you_mean(at.text, ATTACH_POINTS) or f"there are {ticked(ATTACH_POINTS)}"
    title = f"ports cannot be attached at `{at.text}`"
    return error("H0560", title, (at.span, "no attach point"), help=help_)
