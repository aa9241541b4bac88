"""Why there is no shadow run, and why an upgrade does not go on behind one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ...lang.text.diagnostics import Diagnostic
from ..base.errors import refused
from .allowed import NO_PACKETS

_SHOWN = 3


def on_a_card(name: str) -> Diagnostic:
    return Diagnostic(
        "H0809", f"`{name}` is on a network card, where no packets are sampled", (),
        "a shadow runs beside a pipeline of the host",
    )  # fmt: skip


def without_link_headers(name: str) -> Diagnostic:
    return Diagnostic(
        "H0819", f"`{name}` has ports without link headers, whose packets do not run in a shadow",
        (), "`upgrade --dry-run` says what differs between the builds",
    )  # fmt: skip


def no_traced_build() -> Diagnostic:
    return Diagnostic(
        "H0759", "the bundle has no traced build, which a shadow run needs", (),
        "compile it without `--no-trace`",
    )  # fmt: skip


def keeps_no_frames(name: str) -> Diagnostic:
    return Diagnostic(
        "H0808", f"the traced build of `{name}` cannot record whole frames", (),
        "it was compiled by an earlier release: compile it again, and upgrade to that first",
    )  # fmt: skip


def bad_time() -> Diagnostic:
    return Diagnostic(
        "H0817", "a shadow run lasts up to 24 h, with 0.1 s or more from report to report", (),
        "`seconds`, and `period`",
    )  # fmt: skip


def run_failed(name: str) -> Diagnostic:
    return Diagnostic(
        "H0818", f"the shadow run beside `{name}` ended without a report", (),
        "its process was killed, or had no memory: the log of the agent may say more. The "
        "pipeline is as it was",
    )  # fmt: skip


# ---- why an upgrade does not go on; `report`: as `report_json` has it -------------------------


def need_named(report: dict[str, Any], allowed: Collection[str]) -> None:
    """Raises `Refused` where something differs that was not named, or nothing was seen."""
    if report["ended"]:
        raise refused(_ended_early(report["ended"]))
    if report["not_allowed"]:
        raise refused(_not_named(report))
    if not report["compared"] and NO_PACKETS not in allowed:
        raise refused(_nothing_compared(report))


def _ended_early(why: str) -> Diagnostic:
    return Diagnostic(
        "H0810", f"the shadow run ended before its time: {why}", (),
        "run it again; nothing was changed",
    )  # fmt: skip


def _nothing_compared(report: dict[str, Any]) -> Diagnostic:
    seen = report["unlike"] + sum(report["left_out"].values())
    why = f"of {seen:,} that were sampled nothing can be said" if seen else "no packet came by"
    return Diagnostic(
        "H0747", f"nothing was compared: {why}", (),
        f"run it longer, or while there is traffic; `--allow '{NO_PACKETS}'` upgrades all the "
        "same; nothing was changed",
    )  # fmt: skip


def _not_named(report: dict[str, Any]) -> Diagnostic:
    groups = [group for group in report["differences"] if not group["allowed"]]
    groups.sort(key=lambda group: -group["packets"])
    ways = "; ".join(" and ".join(group["differences"]) for group in groups[:_SHOWN])
    more = f", and in {len(groups) - _SHOWN} more ways" if len(groups) > _SHOWN else ""
    example = groups[0]["differences"][0] if groups else "PDR 7"
    return Diagnostic(
        "H0748",
        f"{report['not_allowed']:,} of {report['compared']:,} packets met something else, which "
        f"was not named: {ways or 'in too many ways to list'}{more}",
        (), f"`--allow '{example}'` lets those pass that differ so; nothing was changed",
    )  # fmt: skip
