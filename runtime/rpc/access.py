"""The role that a method needs, and what its requests cost a client."""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from ..base.identity import ROLES, Role
from .methods import LISTING, METHODS, REQUESTS

#: Services of gRPC's own.
_HEALTH: Any = health_pb2.DESCRIPTOR
_REFLECTION: Any = reflection_pb2.DESCRIPTOR
HEALTH: ServiceDescriptor = _HEALTH.services_by_name["Health"]
REFLECTION: ServiceDescriptor = _REFLECTION.services_by_name["ServerReflection"]
_REFLECT = "ServerReflection.ServerReflectionInfo"

#: What changes sessions of STAMP. Who takes results takes them from others.
STAMP = ("InitStamp", "ResetStamp", "CreateStampSession", "StartStampSession", "StopStampSession",
         "DestroyStampSession", "GetStampSessionResults")  # fmt: skip
#: The least role that a method takes (None: whoever TLS lets in); what is not named here is for
#: administrators.
NEEDED: dict[str, Role | None] = {
    **dict.fromkeys(("Get", "List", "Entries", "Stats", "Watch", "Status", "GetSchema"), "read"),
    **dict.fromkeys(("States", "GetEntry", "ListIntents", "ReportIntents", _REFLECT), "read"),
    **dict.fromkeys(("Apply", "Stream", "BulkApply", "DeleteEntry", "Flush", "Refresh"), "rules"),
    **dict.fromkeys(("ApplyIntent", "RemoveIntent"), "rules"),
    **dict.fromkeys(("ListStampSessions", "GetStampSessionResultsCounter"), "read"),
    **dict.fromkeys(("WatchStampResults",), "read"),
    **dict.fromkeys(STAMP, "rules"),
    **dict.fromkeys(("Health.Check", "Health.List", "Health.Watch")),
}
#: Who may call what changes something.
CHANGING = ("rules", "admin")
LASTING = ("Stream", "Watch", "ReportIntents", "WatchStampResults", "Shadow", _REFLECT,
           "Health.Watch")  # fmt: skip
#: Calls that end by themselves if the client lets them, and are ended after a while.
TIMED = (*LISTING, "BulkApply")
#: Requests that a call counts as which only looks, or is refused at the door, and each error that a
#: client gets: it takes as long.
DEAR = 20.0
#: Bytes that count as one request more: of requests that are read word by word, and of others.
TEXT, BYTES = 512, 16384
LOOKING = ("Get", "States", "GetEntry", "Stats", "Status", "GetSchema", "ListIntents",
           "ListStampSessions", "GetStampSessionResultsCounter", "Health.Check", "Health.List",
           )  # fmt: skip
#: What a call costs by its method, if not 1. Those that hold the pipeline, or all of them, while
#: they look at the kernel or the disk cost most.
_HOLDING = ("Refresh", "Repair", "Load", "Upgrade", "Shadow", "Unload", "Backup", "Flush",
            "ResetStamp")  # fmt: skip
COSTS = {
    **dict.fromkeys((*LOOKING, *LISTING, "DeleteEntry", "ApplyIntent", "RemoveIntent"), DEAR),
    **dict.fromkeys(STAMP, DEAR),
    **dict.fromkeys(_HOLDING, 5 * DEAR),
}
#: Calls of these a client has two at a time, apart from its looks, and the others wait. Not of
#: Backup, which lasts as long as somebody reads it.
ALONE = ("Refresh", "Repair", "Load", "Upgrade", "Unload", "DeleteEntry", "Flush")


@cache
def price(name: str) -> tuple[float, int, bool]:
    """What one of its requests costs; how many bytes cost one more; and whether it counts for
    others' shares."""
    unit = TEXT if name in REQUESTS else BYTES
    return COSTS.get(name, 1.0), unit, NEEDED.get(name, "admin") is not None


@cache
def name_of(described: MethodDescriptor) -> str:
    """That of a method of ours; of another's with its service's in front."""
    ours = METHODS.get(described.name) is described
    return described.name if ours else f"{described.containing_service.name}.{described.name}"


@cache
def may(role: Role | None, needed: Role) -> bool:
    return role is not None and ROLES.index(role) >= ROLES.index(needed)
