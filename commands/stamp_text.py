"""Sessions of STAMP and their results as text and as JSON; a session from options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..runtime.rpc import control_pb2 as pb

_DIRECTIONS = ("forward", "backward", "round_trip")
_PARAMETERS = ("reflector", "port", "source", "source_port", "interval", "timeout", "outer_source",
               "outer_source_back", "length", "dscp")  # fmt: skip
_COUNTS = ("sent", "answered", "lost", "waiting", "late", "duplicates", "reordered", "strange",
           "invalid", "out_of_step", "unsent", "skipped")  # fmt: skip


def parameters(reflector: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Of `pb.StampParameters`, by the options of `create`."""
    given = {name: value for name, value in asked.items() if value is not None}
    made = {name: given[name] for name in given.keys() - {"ptp", "stateful", "one_way"}}
    for name, way, usual in (
        ("sids", "way", "own_srh" if ":" in reflector else "h_encaps"),
        ("sids_back", "way_back", "h_encaps"),
    ):
        made[name] = [each.strip() for each in made.get(name, "").split(",") if each.strip()]
        made[way] = made.get(way, usual if made[name] else "address").upper()
    made["clock"] = "PTP" if given["ptp"] else "NTP"
    made["mode"] = "STATEFUL" if given["stateful"] else "STATELESS"
    made["measure"] = "ONE_WAY" if given["one_way"] else "TWO_WAY"
    return made


# ---- sessions -------------------------------------------------------------------------------


def session_rows(found: pb.ListStampSessionsReply) -> str:
    """A line for each, and one for answers that belong to none."""
    from ..runtime.rules.report import table

    rows = []
    for each in found.sessions:
        about = each.parameters
        share = each.lost / (each.answered + each.lost) if each.answered + each.lost else 0.0
        rows.append((
            str(about.ssid), about.name, about.reflector, each.why or _state(each),
            f"{each.sent:,}", f"{each.lost:,}", f"{share:.2%}",
            *(_ms(getattr(each, name)) for name in _DIRECTIONS),
            _jitter(each.forward), _jitter(each.backward),
        ))  # fmt: skip
    head = ("SSID", "session", "reflector", "state", "sent", "lost", "", "there ms", "back ms",
            "round trip ms", "jitter there", "back")  # fmt: skip
    said = table(head, rows, frozenset({0, *range(4, 12)})) if rows else "there are no sessions"
    if found.foreign:
        said += f"\n{found.foreign:,} answers belong to no session"
    return said


def _state(each: pb.StampSession) -> str:
    return "running" if each.running else "stopped"


def _ms(delay: pb.StampDelay) -> str:
    return f"{1000 * delay.mean:.3f}" if delay.count else "-"


def _jitter(delay: pb.StampDelay) -> str:
    return f"{1000 * delay.jitter:.3f}" if delay.pairs else "-"


def session_json(each: pb.StampSession) -> dict[str, Any]:
    """Times in seconds."""
    about = each.parameters
    named = {name: getattr(about, name) for name in _PARAMETERS}
    words = {name: _word(about, name) for name in ("way", "way_back", "clock", "mode", "measure")}
    return {
        "ssid": about.ssid, "name": about.name, "pipeline": each.pipeline,
        "state": _state(each), "why": each.why, **named, **words,
        "sids": list(about.sids), "sids_back": list(about.sids_back),
        "reflector_request": each.reflector,
        **{name: getattr(each, name) for name in _COUNTS},
        "lost_forward": each.lost_forward if each.HasField("lost_forward") else None,
        **{name: _delay_json(getattr(each, name)) for name in _DIRECTIONS},
        "results": {"waiting": each.results.waiting, "dropped": each.results.dropped},
    }  # fmt: skip


def _word(about: pb.StampParameters, name: str) -> str:
    """Of an enumeration."""
    known = about.DESCRIPTOR.fields_by_name[name].enum_type
    return known.values_by_number[getattr(about, name)].name if known else ""


def _delay_json(delay: pb.StampDelay) -> dict[str, float] | None:
    if not delay.count:
        return None
    made = {name: getattr(delay, name) for name in ("count", "mean", "variance", "least", "most")}
    jitter = {name: getattr(delay, name) for name in ("jitter", "most_jitter")}
    return {**made, "pairs": delay.pairs, **(jitter if delay.pairs else {})}


# ---- results --------------------------------------------------------------------------------


def result_rows(found: Sequence[pb.StampResult]) -> str:
    return "\n".join(map(result_line, found)) if found else "there are no results"


def result_line(each: pb.StampResult) -> str:
    """`17  #42  there 0.031 ms  back 0.018 ms  round trip 0.049 ms`"""
    said = [f"{each.ssid}  #{each.sequence}"]
    for name, word in zip(_DIRECTIONS, ("there", "back", "round trip"), strict=True):
        if each.HasField(name):
            said.append(f"{word} {1000 * getattr(each, name):.3f} ms")
    said += [word for word in ("late", "invalid") if getattr(each, word)]
    return "  ".join(said)


def result_json(each: pb.StampResult) -> dict[str, Any]:
    names = ("ssid", "sequence", "reflected", "ttl", "t1", "t2", "t3", "t4", "late", "invalid")
    delays = {name: getattr(each, name) if each.HasField(name) else None
              for name in _DIRECTIONS}  # fmt: skip
    return {**{name: getattr(each, name) for name in names}, **delays}


def missed_line(count: int) -> str:
    some = f"{count:,} result{'s were' if count > 1 else ' was'}"
    return f"{some} left out here: they came faster than they were taken"
