from google.protobuf import any_pb2 as _any_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Form(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FORM_UNSPECIFIED: _ClassVar[Form]
    FORM_BARE: _ClassVar[Form]
    FORM_TEXT: _ClassVar[Form]
    FORM_REQUEST: _ClassVar[Form]
FORM_UNSPECIFIED: Form
FORM_BARE: Form
FORM_TEXT: Form
FORM_REQUEST: Form

class ApplyRequest(_message.Message):
    __slots__ = ("pipeline", "request", "if_revision", "idempotency_key", "digest")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    IF_REVISION_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    request: bytes
    if_revision: int
    idempotency_key: str
    digest: str
    def __init__(self, pipeline: _Optional[str] = ..., request: _Optional[bytes] = ..., if_revision: _Optional[int] = ..., idempotency_key: _Optional[str] = ..., digest: _Optional[str] = ...) -> None: ...

class ApplyReply(_message.Message):
    __slots__ = ("revision", "created", "created_count", "changed_count", "removed_count", "warnings", "repeated")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    CREATED_COUNT_FIELD_NUMBER: _ClassVar[int]
    CHANGED_COUNT_FIELD_NUMBER: _ClassVar[int]
    REMOVED_COUNT_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    REPEATED_FIELD_NUMBER: _ClassVar[int]
    revision: int
    created: _containers.RepeatedCompositeFieldContainer[Reference]
    created_count: int
    changed_count: int
    removed_count: int
    warnings: _containers.RepeatedCompositeFieldContainer[Finding]
    repeated: bool
    def __init__(self, revision: _Optional[int] = ..., created: _Optional[_Iterable[_Union[Reference, _Mapping]]] = ..., created_count: _Optional[int] = ..., changed_count: _Optional[int] = ..., removed_count: _Optional[int] = ..., warnings: _Optional[_Iterable[_Union[Finding, _Mapping]]] = ..., repeated: _Optional[bool] = ...) -> None: ...

class StreamReply(_message.Message):
    __slots__ = ("number", "done", "failed")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    number: int
    done: ApplyReply
    failed: Failure
    def __init__(self, number: _Optional[int] = ..., done: _Optional[_Union[ApplyReply, _Mapping]] = ..., failed: _Optional[_Union[Failure, _Mapping]] = ...) -> None: ...

class BulkPart(_message.Message):
    __slots__ = ("begin", "columns")
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    begin: BulkBegin
    columns: bytes
    def __init__(self, begin: _Optional[_Union[BulkBegin, _Mapping]] = ..., columns: _Optional[bytes] = ...) -> None: ...

class BulkBegin(_message.Message):
    __slots__ = ("pipeline", "if_revision", "idempotency_key")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    IF_REVISION_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    if_revision: int
    idempotency_key: str
    def __init__(self, pipeline: _Optional[str] = ..., if_revision: _Optional[int] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class Reference(_message.Message):
    __slots__ = ("kind", "id")
    KIND_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    kind: str
    id: int
    def __init__(self, kind: _Optional[str] = ..., id: _Optional[int] = ...) -> None: ...

class GetRequest(_message.Message):
    __slots__ = ("pipeline", "kind", "id", "name", "form")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    FORM_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    kind: str
    id: int
    name: str
    form: Form
    def __init__(self, pipeline: _Optional[str] = ..., kind: _Optional[str] = ..., id: _Optional[int] = ..., name: _Optional[str] = ..., form: _Optional[_Union[Form, str]] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ("pipeline", "filter", "form")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    FORM_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    filter: Filter
    form: Form
    def __init__(self, pipeline: _Optional[str] = ..., filter: _Optional[_Union[Filter, _Mapping]] = ..., form: _Optional[_Union[Form, str]] = ...) -> None: ...

class Filter(_message.Message):
    __slots__ = ("kinds", "ids", "name", "says", "refers_to", "counted")
    KINDS_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SAYS_FIELD_NUMBER: _ClassVar[int]
    REFERS_TO_FIELD_NUMBER: _ClassVar[int]
    COUNTED_FIELD_NUMBER: _ClassVar[int]
    kinds: _containers.RepeatedScalarFieldContainer[str]
    ids: _containers.RepeatedScalarFieldContainer[int]
    name: str
    says: _containers.RepeatedCompositeFieldContainer[Says]
    refers_to: Reference
    counted: bool
    def __init__(self, kinds: _Optional[_Iterable[str]] = ..., ids: _Optional[_Iterable[int]] = ..., name: _Optional[str] = ..., says: _Optional[_Iterable[_Union[Says, _Mapping]]] = ..., refers_to: _Optional[_Union[Reference, _Mapping]] = ..., counted: _Optional[bool] = ...) -> None: ...

class Says(_message.Message):
    __slots__ = ("element", "value")
    ELEMENT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    element: str
    value: str
    def __init__(self, element: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class ListPart(_message.Message):
    __slots__ = ("rules", "revision")
    RULES_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    rules: _containers.RepeatedCompositeFieldContainer[Rule]
    revision: int
    def __init__(self, rules: _Optional[_Iterable[_Union[Rule, _Mapping]]] = ..., revision: _Optional[int] = ...) -> None: ...

class Rule(_message.Message):
    __slots__ = ("kind", "id", "name", "text", "request", "packets", "octets", "owned", "sizes", "owner")
    KIND_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    PACKETS_FIELD_NUMBER: _ClassVar[int]
    OCTETS_FIELD_NUMBER: _ClassVar[int]
    OWNED_FIELD_NUMBER: _ClassVar[int]
    SIZES_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    kind: str
    id: int
    name: str
    text: str
    request: bytes
    packets: int
    octets: int
    owned: bool
    sizes: _containers.RepeatedScalarFieldContainer[int]
    owner: Reference
    def __init__(self, kind: _Optional[str] = ..., id: _Optional[int] = ..., name: _Optional[str] = ..., text: _Optional[str] = ..., request: _Optional[bytes] = ..., packets: _Optional[int] = ..., octets: _Optional[int] = ..., owned: _Optional[bool] = ..., sizes: _Optional[_Iterable[int]] = ..., owner: _Optional[_Union[Reference, _Mapping]] = ...) -> None: ...

class StatesRequest(_message.Message):
    __slots__ = ("pipeline",)
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    def __init__(self, pipeline: _Optional[str] = ...) -> None: ...

class StatesReply(_message.Message):
    __slots__ = ("states",)
    STATES_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedCompositeFieldContainer[StateCount]
    def __init__(self, states: _Optional[_Iterable[_Union[StateCount, _Mapping]]] = ...) -> None: ...

class EntriesRequest(_message.Message):
    __slots__ = ("pipeline", "state", "where", "limit")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    state: str
    where: _containers.RepeatedCompositeFieldContainer[Slot]
    limit: int
    def __init__(self, pipeline: _Optional[str] = ..., state: _Optional[str] = ..., where: _Optional[_Iterable[_Union[Slot, _Mapping]]] = ..., limit: _Optional[int] = ...) -> None: ...

class EntryRequest(_message.Message):
    __slots__ = ("pipeline", "state", "key")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    state: str
    key: _containers.RepeatedCompositeFieldContainer[Slot]
    def __init__(self, pipeline: _Optional[str] = ..., state: _Optional[str] = ..., key: _Optional[_Iterable[_Union[Slot, _Mapping]]] = ...) -> None: ...

class FlushRequest(_message.Message):
    __slots__ = ("pipeline", "state", "where")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    state: str
    where: _containers.RepeatedCompositeFieldContainer[Slot]
    def __init__(self, pipeline: _Optional[str] = ..., state: _Optional[str] = ..., where: _Optional[_Iterable[_Union[Slot, _Mapping]]] = ...) -> None: ...

class DeletedReply(_message.Message):
    __slots__ = ("deleted",)
    DELETED_FIELD_NUMBER: _ClassVar[int]
    deleted: int
    def __init__(self, deleted: _Optional[int] = ...) -> None: ...

class EntriesPart(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[Entry]
    def __init__(self, entries: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ...) -> None: ...

class Entry(_message.Message):
    __slots__ = ("slots", "age")
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    AGE_FIELD_NUMBER: _ClassVar[int]
    slots: _containers.RepeatedCompositeFieldContainer[Slot]
    age: float
    def __init__(self, slots: _Optional[_Iterable[_Union[Slot, _Mapping]]] = ..., age: _Optional[float] = ...) -> None: ...

class Slot(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class StatsRequest(_message.Message):
    __slots__ = ("pipeline",)
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    def __init__(self, pipeline: _Optional[str] = ...) -> None: ...

class StatsReply(_message.Message):
    __slots__ = ("events", "kinds", "revision")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[EventCount]
    kinds: _containers.RepeatedCompositeFieldContainer[KindCount]
    revision: int
    def __init__(self, events: _Optional[_Iterable[_Union[EventCount, _Mapping]]] = ..., kinds: _Optional[_Iterable[_Union[KindCount, _Mapping]]] = ..., revision: _Optional[int] = ...) -> None: ...

class EventCount(_message.Message):
    __slots__ = ("group", "reason", "count")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    group: str
    reason: str
    count: int
    def __init__(self, group: _Optional[str] = ..., reason: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class KindCount(_message.Message):
    __slots__ = ("kind", "rules", "capacity")
    KIND_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    kind: str
    rules: int
    capacity: int
    def __init__(self, kind: _Optional[str] = ..., rules: _Optional[int] = ..., capacity: _Optional[int] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("pipeline", "emitted")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    EMITTED_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    emitted: EmittedFilter
    def __init__(self, pipeline: _Optional[str] = ..., emitted: _Optional[_Union[EmittedFilter, _Mapping]] = ...) -> None: ...

class EmittedFilter(_message.Message):
    __slots__ = ("events", "kept", "only_kept")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    ONLY_KEPT_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedScalarFieldContainer[str]
    kept: bool
    only_kept: bool
    def __init__(self, events: _Optional[_Iterable[str]] = ..., kept: _Optional[bool] = ..., only_kept: _Optional[bool] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("pipeline", "revision", "rules", "port", "changed", "missed", "overlay", "emitted", "steered")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    OVERLAY_FIELD_NUMBER: _ClassVar[int]
    EMITTED_FIELD_NUMBER: _ClassVar[int]
    STEERED_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    revision: int
    rules: RulesChanged
    port: PortChanged
    changed: PipelineChanged
    missed: int
    overlay: Overlay
    emitted: EmittedEvent
    steered: SteeredSpread
    def __init__(self, pipeline: _Optional[str] = ..., revision: _Optional[int] = ..., rules: _Optional[_Union[RulesChanged, _Mapping]] = ..., port: _Optional[_Union[PortChanged, _Mapping]] = ..., changed: _Optional[_Union[PipelineChanged, _Mapping]] = ..., missed: _Optional[int] = ..., overlay: _Optional[_Union[Overlay, _Mapping]] = ..., emitted: _Optional[_Union[EmittedEvent, _Mapping]] = ..., steered: _Optional[_Union[SteeredSpread, _Mapping]] = ...) -> None: ...

class EmittedEvent(_message.Message):
    __slots__ = ("event", "time", "fields")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    event: str
    time: int
    fields: _containers.RepeatedCompositeFieldContainer[EmittedField]
    def __init__(self, event: _Optional[str] = ..., time: _Optional[int] = ..., fields: _Optional[_Iterable[_Union[EmittedField, _Mapping]]] = ...) -> None: ...

class EmittedField(_message.Message):
    __slots__ = ("name", "text", "number", "address", "rule")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    name: str
    text: str
    number: int
    address: bytes
    rule: EmittedRule
    def __init__(self, name: _Optional[str] = ..., text: _Optional[str] = ..., number: _Optional[int] = ..., address: _Optional[bytes] = ..., rule: _Optional[_Union[EmittedRule, _Mapping]] = ...) -> None: ...

class EmittedRule(_message.Message):
    __slots__ = ("kind", "id", "name", "sequence", "there")
    KIND_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    THERE_FIELD_NUMBER: _ClassVar[int]
    kind: str
    id: int
    name: str
    sequence: int
    there: bool
    def __init__(self, kind: _Optional[str] = ..., id: _Optional[int] = ..., name: _Optional[str] = ..., sequence: _Optional[int] = ..., there: _Optional[bool] = ...) -> None: ...

class RulesChanged(_message.Message):
    __slots__ = ("created", "changed", "removed", "more")
    CREATED_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    created: _containers.RepeatedCompositeFieldContainer[Reference]
    changed: _containers.RepeatedCompositeFieldContainer[Reference]
    removed: _containers.RepeatedCompositeFieldContainer[Reference]
    more: bool
    def __init__(self, created: _Optional[_Iterable[_Union[Reference, _Mapping]]] = ..., changed: _Optional[_Iterable[_Union[Reference, _Mapping]]] = ..., removed: _Optional[_Iterable[_Union[Reference, _Mapping]]] = ..., more: _Optional[bool] = ...) -> None: ...

class PortChanged(_message.Message):
    __slots__ = ("port",)
    PORT_FIELD_NUMBER: _ClassVar[int]
    port: Port
    def __init__(self, port: _Optional[_Union[Port, _Mapping]] = ...) -> None: ...

class PipelineChanged(_message.Message):
    __slots__ = ("change",)
    class Change(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        CHANGE_UNSPECIFIED: _ClassVar[PipelineChanged.Change]
        LOADED: _ClassVar[PipelineChanged.Change]
        UPGRADED: _ClassVar[PipelineChanged.Change]
        UNLOADED: _ClassVar[PipelineChanged.Change]
    CHANGE_UNSPECIFIED: PipelineChanged.Change
    LOADED: PipelineChanged.Change
    UPGRADED: PipelineChanged.Change
    UNLOADED: PipelineChanged.Change
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    change: PipelineChanged.Change
    def __init__(self, change: _Optional[_Union[PipelineChanged.Change, str]] = ...) -> None: ...

class LoadRequest(_message.Message):
    __slots__ = ("pipeline", "bundle", "config", "config_name")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    BUNDLE_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    CONFIG_NAME_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    bundle: Bundle
    config: str
    config_name: str
    def __init__(self, pipeline: _Optional[str] = ..., bundle: _Optional[_Union[Bundle, _Mapping]] = ..., config: _Optional[str] = ..., config_name: _Optional[str] = ...) -> None: ...

class Bundle(_message.Message):
    __slots__ = ("manifest", "object", "traced", "tc")
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    TRACED_FIELD_NUMBER: _ClassVar[int]
    TC_FIELD_NUMBER: _ClassVar[int]
    manifest: str
    object: bytes
    traced: bytes
    tc: bytes
    def __init__(self, manifest: _Optional[str] = ..., object: _Optional[bytes] = ..., traced: _Optional[bytes] = ..., tc: _Optional[bytes] = ...) -> None: ...

class UpgradeRequest(_message.Message):
    __slots__ = ("pipeline", "bundle", "if_revision", "dry_run", "mapping", "mapping_name", "config", "config_name")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    BUNDLE_FIELD_NUMBER: _ClassVar[int]
    IF_REVISION_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    MAPPING_FIELD_NUMBER: _ClassVar[int]
    MAPPING_NAME_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    CONFIG_NAME_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    bundle: Bundle
    if_revision: int
    dry_run: bool
    mapping: str
    mapping_name: str
    config: str
    config_name: str
    def __init__(self, pipeline: _Optional[str] = ..., bundle: _Optional[_Union[Bundle, _Mapping]] = ..., if_revision: _Optional[int] = ..., dry_run: _Optional[bool] = ..., mapping: _Optional[str] = ..., mapping_name: _Optional[str] = ..., config: _Optional[str] = ..., config_name: _Optional[str] = ...) -> None: ...

class UpgradeReply(_message.Message):
    __slots__ = ("status", "differences", "rules", "rewritten")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    REWRITTEN_FIELD_NUMBER: _ClassVar[int]
    status: PipelineStatus
    differences: _containers.RepeatedScalarFieldContainer[str]
    rules: int
    rewritten: int
    def __init__(self, status: _Optional[_Union[PipelineStatus, _Mapping]] = ..., differences: _Optional[_Iterable[str]] = ..., rules: _Optional[int] = ..., rewritten: _Optional[int] = ...) -> None: ...

class ShadowRequest(_message.Message):
    __slots__ = ("pipeline", "bundle", "mapping", "mapping_name", "seconds", "period", "filter", "port", "sample", "rate", "allow")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    BUNDLE_FIELD_NUMBER: _ClassVar[int]
    MAPPING_FIELD_NUMBER: _ClassVar[int]
    MAPPING_NAME_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    PERIOD_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    ALLOW_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    bundle: Bundle
    mapping: str
    mapping_name: str
    seconds: float
    period: float
    filter: str
    port: str
    sample: int
    rate: int
    allow: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, pipeline: _Optional[str] = ..., bundle: _Optional[_Union[Bundle, _Mapping]] = ..., mapping: _Optional[str] = ..., mapping_name: _Optional[str] = ..., seconds: _Optional[float] = ..., period: _Optional[float] = ..., filter: _Optional[str] = ..., port: _Optional[str] = ..., sample: _Optional[int] = ..., rate: _Optional[int] = ..., allow: _Optional[_Iterable[str]] = ...) -> None: ...

class ShadowReport(_message.Message):
    __slots__ = ("report", "last")
    REPORT_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    report: str
    last: bool
    def __init__(self, report: _Optional[str] = ..., last: _Optional[bool] = ...) -> None: ...

class UnloadRequest(_message.Message):
    __slots__ = ("pipeline",)
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    def __init__(self, pipeline: _Optional[str] = ...) -> None: ...

class UnloadReply(_message.Message):
    __slots__ = ("pipeline",)
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    def __init__(self, pipeline: _Optional[str] = ...) -> None: ...

class RefreshRequest(_message.Message):
    __slots__ = ("pipeline",)
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    def __init__(self, pipeline: _Optional[str] = ...) -> None: ...

class RefreshReply(_message.Message):
    __slots__ = ("rules", "attached", "gone", "revision")
    RULES_FIELD_NUMBER: _ClassVar[int]
    ATTACHED_FIELD_NUMBER: _ClassVar[int]
    GONE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    rules: int
    attached: _containers.RepeatedScalarFieldContainer[str]
    gone: _containers.RepeatedScalarFieldContainer[str]
    revision: int
    def __init__(self, rules: _Optional[int] = ..., attached: _Optional[_Iterable[str]] = ..., gone: _Optional[_Iterable[str]] = ..., revision: _Optional[int] = ...) -> None: ...

class StatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StatusReply(_message.Message):
    __slots__ = ("version", "pid", "started", "acknowledge", "pipelines", "findings", "clients", "journal", "certificates")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    STARTED_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    PIPELINES_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    CLIENTS_FIELD_NUMBER: _ClassVar[int]
    JOURNAL_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATES_FIELD_NUMBER: _ClassVar[int]
    version: str
    pid: int
    started: float
    acknowledge: str
    pipelines: _containers.RepeatedCompositeFieldContainer[PipelineStatus]
    findings: _containers.RepeatedCompositeFieldContainer[Finding]
    clients: int
    journal: Journal
    certificates: _containers.RepeatedCompositeFieldContainer[Certificate]
    def __init__(self, version: _Optional[str] = ..., pid: _Optional[int] = ..., started: _Optional[float] = ..., acknowledge: _Optional[str] = ..., pipelines: _Optional[_Iterable[_Union[PipelineStatus, _Mapping]]] = ..., findings: _Optional[_Iterable[_Union[Finding, _Mapping]]] = ..., clients: _Optional[int] = ..., journal: _Optional[_Union[Journal, _Mapping]] = ..., certificates: _Optional[_Iterable[_Union[Certificate, _Mapping]]] = ...) -> None: ...

class Journal(_message.Message):
    __slots__ = ("directory", "size", "synced", "writable", "losses")
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    SYNCED_FIELD_NUMBER: _ClassVar[int]
    WRITABLE_FIELD_NUMBER: _ClassVar[int]
    LOSSES_FIELD_NUMBER: _ClassVar[int]
    directory: str
    size: int
    synced: float
    writable: bool
    losses: int
    def __init__(self, directory: _Optional[str] = ..., size: _Optional[int] = ..., synced: _Optional[float] = ..., writable: _Optional[bool] = ..., losses: _Optional[int] = ...) -> None: ...

class AcceptLossRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AcceptLossReply(_message.Message):
    __slots__ = ("accepted", "left")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    accepted: _containers.RepeatedCompositeFieldContainer[Finding]
    left: _containers.RepeatedCompositeFieldContainer[Finding]
    def __init__(self, accepted: _Optional[_Iterable[_Union[Finding, _Mapping]]] = ..., left: _Optional[_Iterable[_Union[Finding, _Mapping]]] = ...) -> None: ...

class RepairRequest(_message.Message):
    __slots__ = ("pipeline",)
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    def __init__(self, pipeline: _Optional[str] = ...) -> None: ...

class RepairReply(_message.Message):
    __slots__ = ("status", "restored")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    RESTORED_FIELD_NUMBER: _ClassVar[int]
    status: PipelineStatus
    restored: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, status: _Optional[_Union[PipelineStatus, _Mapping]] = ..., restored: _Optional[_Iterable[str]] = ...) -> None: ...

class BackupRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class BackupPart(_message.Message):
    __slots__ = ("content",)
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    content: bytes
    def __init__(self, content: _Optional[bytes] = ...) -> None: ...

class RestorePart(_message.Message):
    __slots__ = ("replace", "content")
    REPLACE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    replace: bool
    content: bytes
    def __init__(self, replace: _Optional[bool] = ..., content: _Optional[bytes] = ...) -> None: ...

class RestoreReply(_message.Message):
    __slots__ = ("pipelines", "intents")
    PIPELINES_FIELD_NUMBER: _ClassVar[int]
    INTENTS_FIELD_NUMBER: _ClassVar[int]
    pipelines: _containers.RepeatedCompositeFieldContainer[PipelineStatus]
    intents: int
    def __init__(self, pipelines: _Optional[_Iterable[_Union[PipelineStatus, _Mapping]]] = ..., intents: _Optional[int] = ...) -> None: ...

class Certificate(_message.Message):
    __slots__ = ("name", "subject", "ends")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    ENDS_FIELD_NUMBER: _ClassVar[int]
    name: str
    subject: str
    ends: float
    def __init__(self, name: _Optional[str] = ..., subject: _Optional[str] = ..., ends: _Optional[float] = ...) -> None: ...

class PipelineStatus(_message.Message):
    __slots__ = ("pipeline", "program", "digest", "revision", "ports", "kinds", "findings", "overlays", "unprobed", "release", "congestion", "states", "reports", "events", "steered")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    PROGRAM_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    PORTS_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    OVERLAYS_FIELD_NUMBER: _ClassVar[int]
    UNPROBED_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    CONGESTION_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    STEERED_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    program: str
    digest: str
    revision: int
    ports: _containers.RepeatedCompositeFieldContainer[Port]
    kinds: _containers.RepeatedCompositeFieldContainer[KindCount]
    findings: _containers.RepeatedCompositeFieldContainer[Finding]
    overlays: _containers.RepeatedCompositeFieldContainer[Overlay]
    unprobed: _containers.RepeatedCompositeFieldContainer[Overlay]
    release: int
    congestion: Congestion
    states: _containers.RepeatedCompositeFieldContainer[StateCount]
    reports: PushedReports
    events: _containers.RepeatedCompositeFieldContainer[EventState]
    steered: _containers.RepeatedCompositeFieldContainer[SteeredSpread]
    def __init__(self, pipeline: _Optional[str] = ..., program: _Optional[str] = ..., digest: _Optional[str] = ..., revision: _Optional[int] = ..., ports: _Optional[_Iterable[_Union[Port, _Mapping]]] = ..., kinds: _Optional[_Iterable[_Union[KindCount, _Mapping]]] = ..., findings: _Optional[_Iterable[_Union[Finding, _Mapping]]] = ..., overlays: _Optional[_Iterable[_Union[Overlay, _Mapping]]] = ..., unprobed: _Optional[_Iterable[_Union[Overlay, _Mapping]]] = ..., release: _Optional[int] = ..., congestion: _Optional[_Union[Congestion, _Mapping]] = ..., states: _Optional[_Iterable[_Union[StateCount, _Mapping]]] = ..., reports: _Optional[_Union[PushedReports, _Mapping]] = ..., events: _Optional[_Iterable[_Union[EventState, _Mapping]]] = ..., steered: _Optional[_Iterable[_Union[SteeredSpread, _Mapping]]] = ...) -> None: ...

class SteeredSpread(_message.Message):
    __slots__ = ("rule", "text", "members", "changes", "due")
    RULE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    DUE_FIELD_NUMBER: _ClassVar[int]
    rule: Reference
    text: str
    members: _containers.RepeatedCompositeFieldContainer[SteeredMember]
    changes: int
    due: float
    def __init__(self, rule: _Optional[_Union[Reference, _Mapping]] = ..., text: _Optional[str] = ..., members: _Optional[_Iterable[_Union[SteeredMember, _Mapping]]] = ..., changes: _Optional[int] = ..., due: _Optional[float] = ...) -> None: ...

class SteeredMember(_message.Message):
    __slots__ = ("rule", "overlay", "weight", "in_force", "why", "since", "delay", "jitter", "loss")
    RULE_FIELD_NUMBER: _ClassVar[int]
    OVERLAY_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    IN_FORCE_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    DELAY_FIELD_NUMBER: _ClassVar[int]
    JITTER_FIELD_NUMBER: _ClassVar[int]
    LOSS_FIELD_NUMBER: _ClassVar[int]
    rule: Reference
    overlay: str
    weight: int
    in_force: int
    why: str
    since: float
    delay: float
    jitter: float
    loss: float
    def __init__(self, rule: _Optional[_Union[Reference, _Mapping]] = ..., overlay: _Optional[str] = ..., weight: _Optional[int] = ..., in_force: _Optional[int] = ..., why: _Optional[str] = ..., since: _Optional[float] = ..., delay: _Optional[float] = ..., jitter: _Optional[float] = ..., loss: _Optional[float] = ...) -> None: ...

class EventState(_message.Message):
    __slots__ = ("event", "emitted", "suppressed", "unwritten")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    EMITTED_FIELD_NUMBER: _ClassVar[int]
    SUPPRESSED_FIELD_NUMBER: _ClassVar[int]
    UNWRITTEN_FIELD_NUMBER: _ClassVar[int]
    event: str
    emitted: int
    suppressed: int
    unwritten: int
    def __init__(self, event: _Optional[str] = ..., emitted: _Optional[int] = ..., suppressed: _Optional[int] = ..., unwritten: _Optional[int] = ...) -> None: ...

class StateCount(_message.Message):
    __slots__ = ("state", "entries", "capacity", "expired", "evicted", "lost")
    STATE_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    EVICTED_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    state: str
    entries: int
    capacity: int
    expired: int
    evicted: int
    lost: int
    def __init__(self, state: _Optional[str] = ..., entries: _Optional[int] = ..., capacity: _Optional[int] = ..., expired: _Optional[int] = ..., evicted: _Optional[int] = ..., lost: _Optional[int] = ...) -> None: ...

class PushedReports(_message.Message):
    __slots__ = ("otlp", "sent", "dropped", "failed", "tried", "why")
    OTLP_FIELD_NUMBER: _ClassVar[int]
    SENT_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    TRIED_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    otlp: str
    sent: int
    dropped: int
    failed: int
    tried: float
    why: str
    def __init__(self, otlp: _Optional[str] = ..., sent: _Optional[int] = ..., dropped: _Optional[int] = ..., failed: _Optional[int] = ..., tried: _Optional[float] = ..., why: _Optional[str] = ...) -> None: ...

class Congestion(_message.Message):
    __slots__ = ("congested", "since", "why", "diverted")
    CONGESTED_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    DIVERTED_FIELD_NUMBER: _ClassVar[int]
    congested: bool
    since: float
    why: str
    diverted: _containers.RepeatedCompositeFieldContainer[Diverted]
    def __init__(self, congested: _Optional[bool] = ..., since: _Optional[float] = ..., why: _Optional[str] = ..., diverted: _Optional[_Iterable[_Union[Diverted, _Mapping]]] = ...) -> None: ...

class Diverted(_message.Message):
    __slots__ = ("cpu", "part")
    CPU_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    cpu: int
    part: float
    def __init__(self, cpu: _Optional[int] = ..., part: _Optional[float] = ...) -> None: ...

class Overlay(_message.Message):
    __slots__ = ("kind", "id", "name", "state", "since", "loss", "delay", "jitter", "sent", "answered")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        UNKNOWN: _ClassVar[Overlay.State]
        ALIVE: _ClassVar[Overlay.State]
        DEAD: _ClassVar[Overlay.State]
    UNKNOWN: Overlay.State
    ALIVE: Overlay.State
    DEAD: Overlay.State
    KIND_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    LOSS_FIELD_NUMBER: _ClassVar[int]
    DELAY_FIELD_NUMBER: _ClassVar[int]
    JITTER_FIELD_NUMBER: _ClassVar[int]
    SENT_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    kind: str
    id: int
    name: str
    state: Overlay.State
    since: float
    loss: float
    delay: float
    jitter: float
    sent: int
    answered: int
    def __init__(self, kind: _Optional[str] = ..., id: _Optional[int] = ..., name: _Optional[str] = ..., state: _Optional[_Union[Overlay.State, str]] = ..., since: _Optional[float] = ..., loss: _Optional[float] = ..., delay: _Optional[float] = ..., jitter: _Optional[float] = ..., sent: _Optional[int] = ..., answered: _Optional[int] = ...) -> None: ...

class Port(_message.Message):
    __slots__ = ("name", "number", "role", "interface", "vlan", "ifindex", "mtu", "mac", "attached", "counts", "state", "at")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    INTERFACE_FIELD_NUMBER: _ClassVar[int]
    VLAN_FIELD_NUMBER: _ClassVar[int]
    IFINDEX_FIELD_NUMBER: _ClassVar[int]
    MTU_FIELD_NUMBER: _ClassVar[int]
    MAC_FIELD_NUMBER: _ClassVar[int]
    ATTACHED_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    name: str
    number: int
    role: str
    interface: str
    vlan: int
    ifindex: int
    mtu: int
    mac: str
    attached: bool
    counts: PortCounts
    state: str
    at: str
    def __init__(self, name: _Optional[str] = ..., number: _Optional[int] = ..., role: _Optional[str] = ..., interface: _Optional[str] = ..., vlan: _Optional[int] = ..., ifindex: _Optional[int] = ..., mtu: _Optional[int] = ..., mac: _Optional[str] = ..., attached: _Optional[bool] = ..., counts: _Optional[_Union[PortCounts, _Mapping]] = ..., state: _Optional[str] = ..., at: _Optional[str] = ...) -> None: ...

class PortCounts(_message.Message):
    __slots__ = ("rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_errors", "tx_errors", "rx_dropped", "tx_dropped")
    RX_PACKETS_FIELD_NUMBER: _ClassVar[int]
    TX_PACKETS_FIELD_NUMBER: _ClassVar[int]
    RX_BYTES_FIELD_NUMBER: _ClassVar[int]
    TX_BYTES_FIELD_NUMBER: _ClassVar[int]
    RX_ERRORS_FIELD_NUMBER: _ClassVar[int]
    TX_ERRORS_FIELD_NUMBER: _ClassVar[int]
    RX_DROPPED_FIELD_NUMBER: _ClassVar[int]
    TX_DROPPED_FIELD_NUMBER: _ClassVar[int]
    rx_packets: int
    tx_packets: int
    rx_bytes: int
    tx_bytes: int
    rx_errors: int
    tx_errors: int
    rx_dropped: int
    tx_dropped: int
    def __init__(self, rx_packets: _Optional[int] = ..., tx_packets: _Optional[int] = ..., rx_bytes: _Optional[int] = ..., tx_bytes: _Optional[int] = ..., rx_errors: _Optional[int] = ..., tx_errors: _Optional[int] = ..., rx_dropped: _Optional[int] = ..., tx_dropped: _Optional[int] = ...) -> None: ...

class SchemaRequest(_message.Message):
    __slots__ = ("pipeline",)
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    def __init__(self, pipeline: _Optional[str] = ...) -> None: ...

class SchemaReply(_message.Message):
    __slots__ = ("pipeline", "manifest", "ports")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    PORTS_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    manifest: str
    ports: _containers.RepeatedCompositeFieldContainer[Port]
    def __init__(self, pipeline: _Optional[str] = ..., manifest: _Optional[str] = ..., ports: _Optional[_Iterable[_Union[Port, _Mapping]]] = ...) -> None: ...

class ApplyIntentRequest(_message.Message):
    __slots__ = ("pipeline", "text", "name")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    text: str
    name: str
    def __init__(self, pipeline: _Optional[str] = ..., text: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class Intent(_message.Message):
    __slots__ = ("pipeline", "id", "state", "begins", "ends", "rules", "why", "text")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATE_UNSPECIFIED: _ClassVar[Intent.State]
        PENDING: _ClassVar[Intent.State]
        ACTIVE: _ClassVar[Intent.State]
        FAILED: _ClassVar[Intent.State]
        EXPIRED: _ClassVar[Intent.State]
        REMOVED: _ClassVar[Intent.State]
    STATE_UNSPECIFIED: Intent.State
    PENDING: Intent.State
    ACTIVE: Intent.State
    FAILED: Intent.State
    EXPIRED: Intent.State
    REMOVED: Intent.State
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    BEGINS_FIELD_NUMBER: _ClassVar[int]
    ENDS_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    id: str
    state: Intent.State
    begins: float
    ends: float
    rules: _containers.RepeatedCompositeFieldContainer[Reference]
    why: str
    text: str
    def __init__(self, pipeline: _Optional[str] = ..., id: _Optional[str] = ..., state: _Optional[_Union[Intent.State, str]] = ..., begins: _Optional[float] = ..., ends: _Optional[float] = ..., rules: _Optional[_Iterable[_Union[Reference, _Mapping]]] = ..., why: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class ListIntentsRequest(_message.Message):
    __slots__ = ("pipeline", "ids")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, pipeline: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ...) -> None: ...

class ListIntentsReply(_message.Message):
    __slots__ = ("intents",)
    INTENTS_FIELD_NUMBER: _ClassVar[int]
    intents: _containers.RepeatedCompositeFieldContainer[Intent]
    def __init__(self, intents: _Optional[_Iterable[_Union[Intent, _Mapping]]] = ...) -> None: ...

class RemoveIntentRequest(_message.Message):
    __slots__ = ("pipeline", "id")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    id: str
    def __init__(self, pipeline: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class ReportIntentsRequest(_message.Message):
    __slots__ = ("pipeline", "ids", "period")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    PERIOD_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    period: float
    def __init__(self, pipeline: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ..., period: _Optional[float] = ...) -> None: ...

class IntentReports(_message.Message):
    __slots__ = ("time", "seconds", "intents", "host")
    TIME_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    INTENTS_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    time: float
    seconds: float
    intents: _containers.RepeatedCompositeFieldContainer[IntentReport]
    host: HostReport
    def __init__(self, time: _Optional[float] = ..., seconds: _Optional[float] = ..., intents: _Optional[_Iterable[_Union[IntentReport, _Mapping]]] = ..., host: _Optional[_Union[HostReport, _Mapping]] = ...) -> None: ...

class IntentReport(_message.Message):
    __slots__ = ("id", "state", "packets", "octets", "new_packets", "new_octets", "sizes", "cpu", "not_measured", "new_lost_at_most")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PACKETS_FIELD_NUMBER: _ClassVar[int]
    OCTETS_FIELD_NUMBER: _ClassVar[int]
    NEW_PACKETS_FIELD_NUMBER: _ClassVar[int]
    NEW_OCTETS_FIELD_NUMBER: _ClassVar[int]
    SIZES_FIELD_NUMBER: _ClassVar[int]
    CPU_FIELD_NUMBER: _ClassVar[int]
    NOT_MEASURED_FIELD_NUMBER: _ClassVar[int]
    NEW_LOST_AT_MOST_FIELD_NUMBER: _ClassVar[int]
    id: str
    state: Intent.State
    packets: int
    octets: int
    new_packets: int
    new_octets: int
    sizes: _containers.RepeatedCompositeFieldContainer[SizeCount]
    cpu: float
    not_measured: _containers.RepeatedScalarFieldContainer[str]
    new_lost_at_most: int
    def __init__(self, id: _Optional[str] = ..., state: _Optional[_Union[Intent.State, str]] = ..., packets: _Optional[int] = ..., octets: _Optional[int] = ..., new_packets: _Optional[int] = ..., new_octets: _Optional[int] = ..., sizes: _Optional[_Iterable[_Union[SizeCount, _Mapping]]] = ..., cpu: _Optional[float] = ..., not_measured: _Optional[_Iterable[str]] = ..., new_lost_at_most: _Optional[int] = ...) -> None: ...

class SizeCount(_message.Message):
    __slots__ = ("octets", "packets")
    OCTETS_FIELD_NUMBER: _ClassVar[int]
    PACKETS_FIELD_NUMBER: _ClassVar[int]
    octets: int
    packets: int
    def __init__(self, octets: _Optional[int] = ..., packets: _Optional[int] = ...) -> None: ...

class HostReport(_message.Message):
    __slots__ = ("softnet_drops", "port_drops", "cpus", "nanoseconds", "queue_drops")
    SOFTNET_DROPS_FIELD_NUMBER: _ClassVar[int]
    PORT_DROPS_FIELD_NUMBER: _ClassVar[int]
    CPUS_FIELD_NUMBER: _ClassVar[int]
    NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_DROPS_FIELD_NUMBER: _ClassVar[int]
    softnet_drops: int
    port_drops: int
    cpus: _containers.RepeatedScalarFieldContainer[float]
    nanoseconds: float
    queue_drops: int
    def __init__(self, softnet_drops: _Optional[int] = ..., port_drops: _Optional[int] = ..., cpus: _Optional[_Iterable[float]] = ..., nanoseconds: _Optional[float] = ..., queue_drops: _Optional[int] = ...) -> None: ...

class InitStampRequest(_message.Message):
    __slots__ = ("pipeline", "setup")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    SETUP_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    setup: StampSetup
    def __init__(self, pipeline: _Optional[str] = ..., setup: _Optional[_Union[StampSetup, _Mapping]] = ...) -> None: ...

class StampSetup(_message.Message):
    __slots__ = ("source_port", "source4", "source6", "interface")
    SOURCE_PORT_FIELD_NUMBER: _ClassVar[int]
    SOURCE4_FIELD_NUMBER: _ClassVar[int]
    SOURCE6_FIELD_NUMBER: _ClassVar[int]
    INTERFACE_FIELD_NUMBER: _ClassVar[int]
    source_port: int
    source4: str
    source6: str
    interface: str
    def __init__(self, source_port: _Optional[int] = ..., source4: _Optional[str] = ..., source6: _Optional[str] = ..., interface: _Optional[str] = ...) -> None: ...

class ResetStampRequest(_message.Message):
    __slots__ = ("pipeline",)
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    def __init__(self, pipeline: _Optional[str] = ...) -> None: ...

class ResetStampReply(_message.Message):
    __slots__ = ("sessions",)
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    sessions: int
    def __init__(self, sessions: _Optional[int] = ...) -> None: ...

class CreateStampSessionRequest(_message.Message):
    __slots__ = ("pipeline", "parameters")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    parameters: StampParameters
    def __init__(self, pipeline: _Optional[str] = ..., parameters: _Optional[_Union[StampParameters, _Mapping]] = ...) -> None: ...

class StampParameters(_message.Message):
    __slots__ = ("ssid", "name", "reflector", "port", "source", "source_port", "interval", "sids", "way", "outer_source", "sids_back", "way_back", "clock", "mode", "measure", "authenticated", "length", "dscp", "timeout", "outer_source_back")
    class Clock(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        NTP: _ClassVar[StampParameters.Clock]
        PTP: _ClassVar[StampParameters.Clock]
    NTP: StampParameters.Clock
    PTP: StampParameters.Clock
    class Mode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATELESS: _ClassVar[StampParameters.Mode]
        STATEFUL: _ClassVar[StampParameters.Mode]
    STATELESS: StampParameters.Mode
    STATEFUL: StampParameters.Mode
    class Measure(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        TWO_WAY: _ClassVar[StampParameters.Measure]
        ONE_WAY: _ClassVar[StampParameters.Measure]
    TWO_WAY: StampParameters.Measure
    ONE_WAY: StampParameters.Measure
    class Way(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        ADDRESS: _ClassVar[StampParameters.Way]
        H_ENCAPS: _ClassVar[StampParameters.Way]
        H_ENCAPS_RED: _ClassVar[StampParameters.Way]
        OWN_SRH: _ClassVar[StampParameters.Way]
    ADDRESS: StampParameters.Way
    H_ENCAPS: StampParameters.Way
    H_ENCAPS_RED: StampParameters.Way
    OWN_SRH: StampParameters.Way
    SSID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REFLECTOR_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_PORT_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    SIDS_FIELD_NUMBER: _ClassVar[int]
    WAY_FIELD_NUMBER: _ClassVar[int]
    OUTER_SOURCE_FIELD_NUMBER: _ClassVar[int]
    SIDS_BACK_FIELD_NUMBER: _ClassVar[int]
    WAY_BACK_FIELD_NUMBER: _ClassVar[int]
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    MEASURE_FIELD_NUMBER: _ClassVar[int]
    AUTHENTICATED_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    DSCP_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    OUTER_SOURCE_BACK_FIELD_NUMBER: _ClassVar[int]
    ssid: int
    name: str
    reflector: str
    port: int
    source: str
    source_port: int
    interval: float
    sids: _containers.RepeatedScalarFieldContainer[str]
    way: StampParameters.Way
    outer_source: str
    sids_back: _containers.RepeatedScalarFieldContainer[str]
    way_back: StampParameters.Way
    clock: StampParameters.Clock
    mode: StampParameters.Mode
    measure: StampParameters.Measure
    authenticated: bool
    length: int
    dscp: int
    timeout: float
    outer_source_back: str
    def __init__(self, ssid: _Optional[int] = ..., name: _Optional[str] = ..., reflector: _Optional[str] = ..., port: _Optional[int] = ..., source: _Optional[str] = ..., source_port: _Optional[int] = ..., interval: _Optional[float] = ..., sids: _Optional[_Iterable[str]] = ..., way: _Optional[_Union[StampParameters.Way, str]] = ..., outer_source: _Optional[str] = ..., sids_back: _Optional[_Iterable[str]] = ..., way_back: _Optional[_Union[StampParameters.Way, str]] = ..., clock: _Optional[_Union[StampParameters.Clock, str]] = ..., mode: _Optional[_Union[StampParameters.Mode, str]] = ..., measure: _Optional[_Union[StampParameters.Measure, str]] = ..., authenticated: _Optional[bool] = ..., length: _Optional[int] = ..., dscp: _Optional[int] = ..., timeout: _Optional[float] = ..., outer_source_back: _Optional[str] = ...) -> None: ...

class StartStampSessionRequest(_message.Message):
    __slots__ = ("pipeline", "ssid", "duration")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    SSID_FIELD_NUMBER: _ClassVar[int]
    DURATION_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    ssid: int
    duration: float
    def __init__(self, pipeline: _Optional[str] = ..., ssid: _Optional[int] = ..., duration: _Optional[float] = ...) -> None: ...

class StampSessionRequest(_message.Message):
    __slots__ = ("pipeline", "ssid")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    SSID_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    ssid: int
    def __init__(self, pipeline: _Optional[str] = ..., ssid: _Optional[int] = ...) -> None: ...

class StampSessionsRequest(_message.Message):
    __slots__ = ("pipeline", "ssids")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    SSIDS_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    ssids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, pipeline: _Optional[str] = ..., ssids: _Optional[_Iterable[int]] = ...) -> None: ...

class ListStampSessionsReply(_message.Message):
    __slots__ = ("sessions", "foreign")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    FOREIGN_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[StampSession]
    foreign: int
    def __init__(self, sessions: _Optional[_Iterable[_Union[StampSession, _Mapping]]] = ..., foreign: _Optional[int] = ...) -> None: ...

class StampSession(_message.Message):
    __slots__ = ("pipeline", "parameters", "running", "why", "reflector", "sent", "answered", "lost", "waiting", "lost_forward", "late", "duplicates", "reordered", "strange", "invalid", "out_of_step", "unsent", "skipped", "forward", "backward", "round_trip", "results")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    REFLECTOR_FIELD_NUMBER: _ClassVar[int]
    SENT_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    LOST_FORWARD_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    REORDERED_FIELD_NUMBER: _ClassVar[int]
    STRANGE_FIELD_NUMBER: _ClassVar[int]
    INVALID_FIELD_NUMBER: _ClassVar[int]
    OUT_OF_STEP_FIELD_NUMBER: _ClassVar[int]
    UNSENT_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    FORWARD_FIELD_NUMBER: _ClassVar[int]
    BACKWARD_FIELD_NUMBER: _ClassVar[int]
    ROUND_TRIP_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    parameters: StampParameters
    running: bool
    why: str
    reflector: str
    sent: int
    answered: int
    lost: int
    waiting: int
    lost_forward: int
    late: int
    duplicates: int
    reordered: int
    strange: int
    invalid: int
    out_of_step: int
    unsent: int
    skipped: int
    forward: StampDelay
    backward: StampDelay
    round_trip: StampDelay
    results: StampResultsCounter
    def __init__(self, pipeline: _Optional[str] = ..., parameters: _Optional[_Union[StampParameters, _Mapping]] = ..., running: _Optional[bool] = ..., why: _Optional[str] = ..., reflector: _Optional[str] = ..., sent: _Optional[int] = ..., answered: _Optional[int] = ..., lost: _Optional[int] = ..., waiting: _Optional[int] = ..., lost_forward: _Optional[int] = ..., late: _Optional[int] = ..., duplicates: _Optional[int] = ..., reordered: _Optional[int] = ..., strange: _Optional[int] = ..., invalid: _Optional[int] = ..., out_of_step: _Optional[int] = ..., unsent: _Optional[int] = ..., skipped: _Optional[int] = ..., forward: _Optional[_Union[StampDelay, _Mapping]] = ..., backward: _Optional[_Union[StampDelay, _Mapping]] = ..., round_trip: _Optional[_Union[StampDelay, _Mapping]] = ..., results: _Optional[_Union[StampResultsCounter, _Mapping]] = ...) -> None: ...

class StampDelay(_message.Message):
    __slots__ = ("count", "mean", "variance", "least", "most", "pairs", "jitter", "most_jitter")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    MEAN_FIELD_NUMBER: _ClassVar[int]
    VARIANCE_FIELD_NUMBER: _ClassVar[int]
    LEAST_FIELD_NUMBER: _ClassVar[int]
    MOST_FIELD_NUMBER: _ClassVar[int]
    PAIRS_FIELD_NUMBER: _ClassVar[int]
    JITTER_FIELD_NUMBER: _ClassVar[int]
    MOST_JITTER_FIELD_NUMBER: _ClassVar[int]
    count: int
    mean: float
    variance: float
    least: float
    most: float
    pairs: int
    jitter: float
    most_jitter: float
    def __init__(self, count: _Optional[int] = ..., mean: _Optional[float] = ..., variance: _Optional[float] = ..., least: _Optional[float] = ..., most: _Optional[float] = ..., pairs: _Optional[int] = ..., jitter: _Optional[float] = ..., most_jitter: _Optional[float] = ...) -> None: ...

class StampResultsRequest(_message.Message):
    __slots__ = ("pipeline", "ssid", "most")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    SSID_FIELD_NUMBER: _ClassVar[int]
    MOST_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    ssid: int
    most: int
    def __init__(self, pipeline: _Optional[str] = ..., ssid: _Optional[int] = ..., most: _Optional[int] = ...) -> None: ...

class StampResultsCounter(_message.Message):
    __slots__ = ("waiting", "dropped")
    WAITING_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    waiting: int
    dropped: int
    def __init__(self, waiting: _Optional[int] = ..., dropped: _Optional[int] = ...) -> None: ...

class StampResults(_message.Message):
    __slots__ = ("results", "missed")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[StampResult]
    missed: int
    def __init__(self, results: _Optional[_Iterable[_Union[StampResult, _Mapping]]] = ..., missed: _Optional[int] = ...) -> None: ...

class StampResult(_message.Message):
    __slots__ = ("ssid", "sequence", "reflected", "ttl", "t1", "t2", "t3", "t4", "late", "invalid", "forward", "backward", "round_trip")
    SSID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    REFLECTED_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    T1_FIELD_NUMBER: _ClassVar[int]
    T2_FIELD_NUMBER: _ClassVar[int]
    T3_FIELD_NUMBER: _ClassVar[int]
    T4_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    INVALID_FIELD_NUMBER: _ClassVar[int]
    FORWARD_FIELD_NUMBER: _ClassVar[int]
    BACKWARD_FIELD_NUMBER: _ClassVar[int]
    ROUND_TRIP_FIELD_NUMBER: _ClassVar[int]
    ssid: int
    sequence: int
    reflected: int
    ttl: int
    t1: int
    t2: int
    t3: int
    t4: int
    late: bool
    invalid: bool
    forward: float
    backward: float
    round_trip: float
    def __init__(self, ssid: _Optional[int] = ..., sequence: _Optional[int] = ..., reflected: _Optional[int] = ..., ttl: _Optional[int] = ..., t1: _Optional[int] = ..., t2: _Optional[int] = ..., t3: _Optional[int] = ..., t4: _Optional[int] = ..., late: _Optional[bool] = ..., invalid: _Optional[bool] = ..., forward: _Optional[float] = ..., backward: _Optional[float] = ..., round_trip: _Optional[float] = ...) -> None: ...

class Status(_message.Message):
    __slots__ = ("code", "message", "details")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    code: int
    message: str
    details: _containers.RepeatedCompositeFieldContainer[_any_pb2.Any]
    def __init__(self, code: _Optional[int] = ..., message: _Optional[str] = ..., details: _Optional[_Iterable[_Union[_any_pb2.Any, _Mapping]]] = ...) -> None: ...

class Failure(_message.Message):
    __slots__ = ("status", "findings", "revision")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    status: int
    findings: _containers.RepeatedCompositeFieldContainer[Finding]
    revision: int
    def __init__(self, status: _Optional[int] = ..., findings: _Optional[_Iterable[_Union[Finding, _Mapping]]] = ..., revision: _Optional[int] = ...) -> None: ...

class Finding(_message.Message):
    __slots__ = ("code", "title", "help", "warning", "rule", "element", "path", "labels")
    CODE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    HELP_FIELD_NUMBER: _ClassVar[int]
    WARNING_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    ELEMENT_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    code: str
    title: str
    help: str
    warning: bool
    rule: str
    element: str
    path: _containers.RepeatedScalarFieldContainer[int]
    labels: _containers.RepeatedCompositeFieldContainer[Label]
    def __init__(self, code: _Optional[str] = ..., title: _Optional[str] = ..., help: _Optional[str] = ..., warning: _Optional[bool] = ..., rule: _Optional[str] = ..., element: _Optional[str] = ..., path: _Optional[_Iterable[int]] = ..., labels: _Optional[_Iterable[_Union[Label, _Mapping]]] = ...) -> None: ...

class Label(_message.Message):
    __slots__ = ("source", "text", "start", "end", "says", "line")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    SAYS_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    source: str
    text: str
    start: int
    end: int
    says: str
    line: int
    def __init__(self, source: _Optional[str] = ..., text: _Optional[str] = ..., start: _Optional[int] = ..., end: _Optional[int] = ..., says: _Optional[str] = ..., line: _Optional[int] = ...) -> None: ...
