"""The manifest: the contract between compiler and runtime. It describes what a bundle's object
contains and how its maps are used.

The compiler writes it beside the object; the runtime (and a controller in another language) needs
nothing else. Versioned JSON. Sizes and offsets are bytes unless said otherwise.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Literal

from ...text.frozen import Frozen
from .parse_graph import ParseGraph

FORMAT = 1
#: How rules lie in the maps, as this release writes it, and all that it reads: see `RuleKind`.
LAYOUT, LAYOUTS = 4, (1, 2, 3, 4)

#: Bytes of `struct next_hop` in a record: see `helio.bpf.h`.
NEXT_HOP_SIZE = 24
#: Bytes in front of a state's entry: when it was written.
SEEN = 8
#: Of a state that is changed in place: lines of a set, bytes in front of them, where the tags are.
STATE_LINES, STATE_HEAD, TAGS_AT = 8, 64, 8
#: Bytes of a line in front of its key.
GENERATION = 8
#: Bits of registers that programs add to: in 64 bits the sum of what CPUs add at once fits.
MOST_COUNTED = 48
#: Bytes of an element of the map `counts`: packets, bytes.
COUNTS_SIZE = 16
#: Of so many CPUs at most a program adds up what they counted.
MOST_CPUS = 1024
#: Bytes of an element of the map `meters`.
METER_SIZE = 32
#: Of these, what the buckets lack and when that was.
BUCKETS = 24
#: Lines that the flow cache has for each CPU.
FLOWS = 1 << 14
#: Keys of a pair of words of the bit vectors, and the number by which a bit's place is found.
VECTOR_KEYS = 128
DE_BRUIJN = 0x022FDD63CC95386D
VECTOR_PLACE = 16  # bytes
#: Record slots of a spread.
SPREAD_SLOTS = 256
#: Receive queues that a packet can be sent to.
QUEUES = 256
#: Addresses of the host that a card knows, of either family.
LOCAL_ADDRESSES = 1024
#: Default limit of ICMP errors: a second, and at once. Linux' values (`icmp_msgs_per_sec`,
#: `icmp_msgs_burst`).
ICMP_RATE, ICMP_BURST = 1000, 50
#: Multiplier of the hash of keys, and how many buckets of an index a key may be in: see `RuleKind`.
HASH_FACTOR = 0x9E3779B97F4A7C15
MOST_BUCKETS = 32
#: log2 of how many times as many buckets the next larger index of a kind has.
INDEX_STEP = 2
#: Bytes of a bucket, and keys that it holds.
BUCKET_SIZE, BUCKET_KEYS = 32, 6


#: Of a record of the event ring: bytes in front of its fields, bytes of all, and of a field that
#: says which rule.
EVENT_HEAD, EVENT_MOST, IDENTITY = 16, 128, 16
#: Records a second of an event that says no limit; and how many sources are told apart at a time.
EVENT_RATE, SOURCES = 1000, 4096
#: How records of the event ring are laid out, as this release writes and reads them.
EVENT_FORMAT = 1
#: Bytes of the event ring.
EVENT_RING = 1 << 20


class Reserved(Frozen):
    """A value of an enumeration that no rule may have, and why."""

    name: str
    value: int
    reason: str


class Element(Frozen):
    """An information element. `width` in bits; `kind` is uint, mac, ip4, ip6, bytes or
    name (`base/domain_names.py`). `references`:
    rule kinds and/or "port" if the value refers to one of those. `most`: it holds one to `most`
    values (`base/lists.py`); 0: it holds one. `reserved`: values with a name that are
    none of `symbols`."""

    name: str
    number: int
    type: str
    width: int
    kind: str
    symbols: dict[str, int]
    references: tuple[str, ...]
    doc: str = ""
    most: int = 0
    reserved: tuple[Reserved, ...] = ()


class Match(Frozen):
    """One match element of a rule kind. The lookup key is one big-endian integer of
    `key_size * 8` bits: the element's value stands at bits [position, position + width) from the
    least significant end. `presence` is the bit that says that the packet has the node (None where
    it surely has); a rule that names the element has that bit set in value and mask. `roles`: of
    the port of arrival, as in `model.Match`."""

    element: str
    kind: Literal["exact", "lpm", "optional", "ternary", "range"]
    width: int
    position: int
    presence: int | None
    roles: tuple[str, ...] = ()


MemberKind = Literal["value", "present", "tag", "reference", "next_hop", "slots"]


class Member(Frozen):
    """A piece of a record. `kind`:

    value      the element's value in network byte order; 0 where the rule leaves it out
    present    one byte: 1 if the rule has the element
    tag        one byte: which of `choices` the reference is to (1 for the first; 0: none)
    reference  u32 host order: a place of a rule kind, an id of a grouped kind, or a port's number
    next_hop   `struct next_hop`, resolved by the runtime from the port element and the address
               element named in `element` as "PORT via ADDRESS"
    slots      256 x u32 host order: places of the spread's members; of a list as many as it may
               have, 0 behind the last
    """

    name: str
    kind: MemberKind
    element: str
    offset: int
    size: int
    choices: tuple[str, ...] = ()


class Requirement(Frozen):
    """See `model.Requirement`."""

    element: str
    when: tuple[tuple[str, tuple[int, ...]], ...] = ()
    references: tuple[str, ...] = ()


class Spread(Frozen):
    """Rules of `kind` that a rule has as members; `listed`: in the order of their ids, and flows
    are spread over none."""

    kind: str
    least: int
    most: int
    weight: str | None
    listed: bool = False


Way = Literal["hash", "hashed", "masked", "array", "none"]


class Offload(Frozen):
    """How a kind's rules lie in a card's maps. An element's value has `size` bytes: the record,
    at `rank_at` the u64 rank (higher wins; only where rules of two masks may be as specific), at
    `cell_at` the u32 cell (0: no rule), at `key_at` the whole key. Found in NAME_entries, by `way`:

    hash    HASH by the key under one of the masks `fixed`
    hashed  HASH by the jhash of the key (u32, host order); the key in the value must be the same
    masked  HASH by the key under one of the masks in use; these lie in the ARRAY NAME_masks of
            `tuples` elements: the mask and the last u64 of an empty key under it (which ends with
            the number of the mask, from 1 on), both padded as a key is. A u64 of 0 ends the array
    array   ARRAY by the value of the only match element (u32, host order)
    none    not at all

    `referred`: the same value is in the ARRAY NAME_records by cell. NAME_counts is an ARRAY by cell
    of u64 packets, u64 bytes. Every slot of these arrays is written before a program is loaded: a
    card keeps them as hash tables. Numbers are in host order but in the key and the record."""

    way: Way
    size: int
    cell_at: int
    rank_at: int | None
    key_at: int | None
    referred: bool


class RaisedField(Frozen):
    """What a field of an event that a rule raises holds: a `number`, `rule` (which rule it is), its
    `id`, what it counted, or the value of an `element`: of a prefix and a mask the bits that are
    compared, of a port or a rule its number or id, 0 where the rule leaves it out."""

    what: Literal["number", "rule", "id", "packets", "bytes", "element"]
    number: int = 0
    element: str = ""


class Raise(Frozen):
    """The event that a rule raises when it was not matched for `amount` seconds (`idle`), or when
    it counted so many packets or bytes; `again`: each time that so many more. `element`: it says
    the amount, of rules that give it and where it is not 0. `fields`: in the event's order."""

    event: str
    what: Literal["idle", "packets", "bytes"]
    amount: int
    element: str
    again: bool
    fields: tuple[RaisedField, ...]


class RuleKind(Frozen):
    """A rule kind and its maps: for NAME in lower case, map names are

    NAME_cells     ARRAY mmapable, u64 a cell; cell 0 is the directory's, rules have 1..cells-1
    NAME_records   ARRAY mmapable, record_size: with the slot's lowest bit b by place + b * places
                   if `by_cell` and `halves`, by 2 * cell + b if only `by_cell`, else by slot
    NAME_images    ARRAY mmapable, image_size: the control plane's own copy, by slot; not 0
    NAME_tuples    ARRAY mmapable: versions of the tuple directory; slot 0 begins with a u64, the
                   last epoch at which keys were added or removed (only of a `cached` kind)
    NAME_entries   ARRAY mmapable: the key's u64 words, the last padded with zeros, u64 rank, and of
                   kinds with priorities or ranges u32 priority, u32 cell (higher priority, then
                   higher rank wins). An entry's number is its rule's cell; those from `cells` on
                   are further keys of rules with ranges, and have their rule's cell
    NAME_index     ARRAY mmapable of `index_size` buckets: u8 tag[6], u16 past, u32 number[6] (of an
                   entry)
    NAME_filter    ARRAY mmapable, one value of `filter` bits in u64s, lowest first (only if any);
                   behind them the bit vectors, if `vectors`

    A rule's place is the number of its cell, and there are as many `places` as cells. But of a kind
    with `two_cells`, which has priorities, the rule of place n has cell n or n + `places`, of which
    it takes the other one when its priority changes: one of them is empty at each epoch. Records of
    other rules and slots of states say which rule it is by its place.

    A kind that `counts` has elements of the map `counts` (see `Manifest`), by place, from
    `counts_at` of each row on: one, or five if it counts `sizes`: then three with u64[6] packets by
    size, and one with u64 packets of builds before, of which no sizes are known. In layout 1 it has
    a map of its own: NAME_counts, PERCPU_ARRAY by cell, without the latter.

    The kind's `meters` are elements of it: rate and burst, or as RFC 2697 and RFC 2698 have them;
    in bits a second and bytes, or (`packet_meter`) in packets. Their buckets are elements of the
    map `meters` (see `Manifest`), by place, from `meters_at` on.

    `records` and `cells` count all slots and cells, the zeroth too. The tuple maps are absent
    (key_size 0) for a kind that nothing looks up; else key_size is a multiple of 4. In the key the
    last two bytes are the tuple's number.

    A `cached` kind uses the flow cache (see `Manifest`) while its directory says so. Behind the
    last tuple a directory of such a kind has one more mask: the union of all. The epoch of a
    request that adds or removes keys is stored in NAME_tuples before it is committed.

    `fixed` are the masks (hex, `key_size` bytes) that all keys lie under, most specific first:
    their tuples, numbered from 1, are looked under without the directory. While other tuples have
    keys (of equal matches), bit 48 of cell 0 is set.

    With w0, w1 … the key's words as little-endian u64s, F = HASH_FACTOR, and all modulo 2^64, let
    s = w0 F + w1 F^2 + …; then its hash is (s ^ s >> 32) F. Every key has its bit set in the
    filter: the bit's number is the upper log2(`filter`) bits of the hash.

    A kind with `small_indexes` has so many indexes besides; the next larger one has 2^`index_step`
    times as many buckets. Keys are in one of them: of 2^n buckets, of which the first is 2^m, where
    64 - n is bits 49 to 54 of cell 0 and m bits 55 to 60; these are 0 until a key comes. It is
    filled, then cell 0 leads to it; none is used again that was left.

    A key's tag is bits 8 to 15 of its hash, 1 where these are 0. Let b be the upper n bits: it is
    in the first of its index's buckets (b + (i & ~1)) ^ (i & 1), i = 0, 1 … (modulo 2^n if there
    are no `spare_buckets` behind each index)
    up to MOST_BUCKETS, that had a free tag (0) when it came. `past` is how many keys went past a
    bucket that was full: no key is behind one of which it is 0.

    `vectors`, a multiple of VECTOR_KEYS: for so many keys the bit vectors have room. They are u64
    pairs: of words in use, 0 while packets do not look here; u64 0; for each pair of words a bound
    that no key of them exceeds; `vectors` places; then for each pair, each of `asked_bytes` and
    each value of this byte u64[2]: a bit for each key that takes the value. A bound and a place are
    u64 rank, u32 priority, u32 cell (0 in a bound). The place of bit n of word w is
    64 w + (2^n DE_BRUIJN mod 2^64 >> 58).

    In layout 1 `buckets` is 0, there is no index, and NAME_entries is a HASH, key_size -> u32 cell,
    u32 priority, u64 rank."""

    name: str
    number: int  # from 1: position in the file
    capacity: int
    named: bool
    grouped: bool
    match: tuple[Match, ...]
    gives: tuple[str, ...]
    alternatives: tuple[str, ...]
    spread: Spread | None
    counts: tuple[str, ...]
    priority: tuple[Literal["priority", "precedence"], str] | None
    requires: tuple[Requirement, ...]
    key_size: int
    group_position: int | None  # bit position of the u32 id in the key of a grouped kind
    record: tuple[Member, ...]
    record_size: int
    image_size: int
    cells: int
    records: int
    tuples: int  # tuples a directory holds
    versions: int  # directories, the zeroth too
    entries: int
    fixed: tuple[str, ...] = ()
    filter: int = 0  # bits, a power of two; 0: there is none
    doc: str = ""
    offload: Offload | None = None
    counts_at: int | None = None
    by_cell: bool = False
    halves: bool = False
    two_cells: bool = False
    buckets: int = 0
    cached: bool = False
    vectors: int = 0
    small_indexes: int = 0
    index_step: int = 4
    spare_buckets: int = 0
    meters: tuple[str, ...] = ()
    meters_at: int | None = None
    packet_meter: bool = False
    raises: tuple[Raise, ...] = ()

    @property
    def prefix(self) -> str:
        return self.name.lower()

    @property
    def has_ranges(self) -> bool:
        return any(match.kind == "range" for match in self.match)

    @property
    def places(self) -> int:
        """How many there are, the zeroth too. A cell's is its number modulo this."""
        return self.cells // 2 if self.two_cells else self.cells

    @property
    def most_keys(self) -> int:
        """Keys of its rules that there is room for, if it is full."""
        return self.capacity + self.entries - self.cells if self.buckets else self.entries

    @property
    def entry_size(self) -> int:
        """Bytes of an element of NAME_entries, of which the key is the first."""
        return -(-self.key_size // 8) * 8 + (16 if self.priority or self.has_ranges else 8)

    @property
    def index_logs(self) -> tuple[int, ...]:
        """log2 of the buckets of each index, the smallest first."""
        largest = self.buckets.bit_length() - 1
        return tuple(largest - self.index_step * i for i in range(self.small_indexes, -1, -1))

    @property
    def index_size(self) -> int:
        """Buckets of all indexes."""
        first = 1 << self.index_at(self.index_logs[-1]) & ~1
        return first + self.buckets + self.spare_buckets

    def index_at(self, log: int) -> int:
        """log2 of the first bucket's number of an index of 2^log buckets; 0 where it is 0."""
        if not self.small_indexes:
            return 0
        if self.index_step == INDEX_STEP:
            return log - 1
        return log - 2 if 1 << log == self.buckets else log

    @property
    def asked_bytes(self) -> tuple[int, ...]:
        """The bytes of the key that a rule may ask for, counted from the key's first."""
        spans = [(match.position, match.width) for match in self.match]
        spans += [(match.presence, 1) for match in self.match if match.presence is not None]
        spans += [(self.group_position, 32)] if self.group_position is not None else []
        bits = (bit for at, width in spans for bit in range(at, at + width))
        return tuple(sorted({self.key_size - 1 - bit // 8 for bit in bits}))

    @property
    def filter_size(self) -> int:
        """Bytes of the value of NAME_filter, if there is one."""
        pairs = self.vectors // VECTOR_KEYS
        places = VECTOR_PLACE * (1 + pairs + self.vectors)  # the head has as many bytes as a place
        vectors = 16 * 256 * len(self.asked_bytes) * pairs
        return self.filter // 8 + (places + vectors if pairs else 0)

    @property
    def records_size(self) -> int:
        """Elements of NAME_records."""
        return 2 * self.places if self.by_cell else self.records

    @property
    def counts_each(self) -> int:
        """Elements of the map `counts` for a place."""
        return 5 if "sizes" in self.counts else 1


class Slot(Frozen):
    """A part of a state's key or entry: `size` bytes at `offset`, in network order; a port's
    number in host order in an entry. Types as in `Element`, or "port", or "rule": which rule of the
    kind `rule`, as u64 sequence, u32 id, u32 place, in host order. It is that rule if the rule of
    the place has that sequence."""

    name: str
    type: str
    offset: int
    size: int
    rule: str = ""


class State(Frozen):
    """A table that packets write: map NAME_state, LRU_HASH, key_size -> entry_size bytes. An entry
    begins with a u64 in host order: when it was last written, in nanoseconds of CLOCK_MONOTONIC
    (kept only where the state ages, to a second). `ages`: seconds, 0 for never; `lifetime`: the
    slot that says them; `idle`: a packet that recalls an entry writes the time, too.

    `in_place`: the map is an ARRAY of `sets`, each a head of STATE_HEAD bytes (a bpf_spin_lock,
    a u32, then at TAGS_AT a u16 for each of STATE_LINES lines, 0 where it is empty), then the
    lines: a u64 that changes with the entry, key_size and entry_size bytes. `counts`: the last
    slots of `gives`, which programs add to: packets, bytes. `meters`, `packet_meter`: as of a
    `RuleKind`, of slots; then each line ends with BUCKETS bytes, as an element of the map `meters`
    does behind its lock.

    `shape`: it is an array of registers, and the map an ARRAY of `capacity` u64 in host order,
    those of a row behind each other. CPUs add to one at once, so that it may hold more than its
    range, or less (as an i64), by what each of them added last. Its entries are those that are not
    0: the key has u32 `row` (of two lengths) and u32 `cell`, the entry `value`."""

    name: str
    capacity: int
    key_size: int
    entry_size: int
    match: tuple[Slot, ...]
    gives: tuple[Slot, ...]
    ages: int = 0
    doc: str = ""
    lifetime: str = ""
    idle: bool = False
    in_place: bool = False
    counts: tuple[str, ...] = ()
    meters: tuple[str, ...] = ()
    packet_meter: bool = False
    shape: tuple[int, ...] = ()

    @property
    def prefix(self) -> str:
        return self.name.lower()

    @property
    def register_bits(self) -> int:
        """Of an array of registers, how wide each is."""
        return int(self.gives[0].type[1:])

    @property
    def given(self) -> tuple[Slot, ...]:
        """The slots that a stage says, of those that it gives."""
        return self.gives[: len(self.gives) - len(self.counts)]

    @property
    def aging(self) -> bool:
        return bool(self.ages or self.lifetime)

    @property
    def line_size(self) -> int:
        """Bytes of a line of a set."""
        return GENERATION + self.key_size + self.entry_size + BUCKETS * bool(self.meters)

    @property
    def sets(self) -> int:
        """A power of two: with half of the lines in use at its capacity, few sets are full."""
        return 1 << max(0, (2 * self.capacity - 1) // STATE_LINES).bit_length()


class EventField(Frozen):
    """A field of an event's record: `size` bytes at `offset`, in network order. Types as in
    `Element`, or "port" (a port's number), or "rule": u64 sequence, u32 id, in host order, of a
    rule of the kind `rule`."""

    name: str
    type: str
    offset: int
    size: int
    rule: str = ""


class EventKind(Frozen):
    """An event that packets raise. Its records have `size` bytes and begin with u64 `tag`, u64
    nanoseconds of CLOCK_MONOTONIC, both in host order. `tag` is another one for each name and
    layout: who knows several builds knows by it which of them wrote a record. `rate`: records a
    second, and `each`: of each source (0: any number); the fields `by` tell sources apart."""

    name: str
    tag: int
    size: int
    fields: tuple[EventField, ...]
    rate: int
    each: int = 0
    by: tuple[str, ...] = ()
    doc: str = ""


class EventRing(Frozen):
    """The map `event_ring`, RINGBUF, of `size` bytes; and `event_buckets`, ARRAY mmapable, of u64:
    the time at which a bucket of tokens will be full, one for each event, then SOURCES for each
    event with sources. `format`: of the records, EVENT_FORMAT."""

    size: int
    buckets: int
    format: int
    kinds: tuple[EventKind, ...]


class Counter(Frozen):
    """An entry of the PERCPU_ARRAY `events` (u64 each). `group` and `reason` name it:
    ("malformed", "gre: truncated"), ("verdict", "pass"), ("miss", "OVERLAY") …"""

    index: int
    group: str
    reason: str


class Program(Frozen):
    """A program, which each object has. `slot` is its index in the role's PROG_ARRAY (None for the
    entry)."""

    name: str
    stage: str
    role: str
    slot: int | None


#: Where ports of a role are attached. Those at tc run the tc object's programs.
AttachPoint = Literal["xdp", "tc.ingress", "tc.egress"]
ATTACH_POINTS: tuple[AttachPoint, ...] = ("xdp", "tc.ingress", "tc.egress")


class Scratch(Frozen):
    """Where the per-CPU scratch record (map `scratch`) keeps what tests and traces read."""

    egress: int  # offset of u32: number of the port a packet was redirected to
    steered: int | None = None  # of u32: 1 + the receive queue that it was given; None: never


class Manifest(Frozen):
    """`join` is "staged" or "fused". Ports are numbered from 1; `max_ports` bounds them.
    Where `scratch` says that packets are steered, the ARRAY `queues` has the CPU (u32) of each of
    QUEUES receive queues, and the CPUMAP `cpus` leads there.
    `forwards`: packets leave by other ports than they came in by: those must take redirected
    frames. `routes`: some of them to a next hop, which the kernel's FIB and neighbour table know;
    the JSON says it where none do. `answers`: roles on whose ports packets may leave by the port
    that they came in by (`send back`, `reply icmp`). `atomic`: what takes effect as a whole. Of a
    card's program (`target` "nfp") the kinds' maps are those that their `offload` describes,
    `events` is an ARRAY, `control` an ARRAY of one u64, the default verdict; `local` and `local6`
    are there if a stage asks. `hook`: what kind of programs they are; of XDP, the JSON does not say
    it.

    `counts`, if it is not 0, is the length of a row of the ARRAY `counts`, mmapable, of u64
    packets, u64 bytes. Row 0 has what builds before this one counted; CPU n adds to row n + 1. As
    the object has it, the map has one row. `sums`: programs add up its rows, of MOST_CPUS CPUs at
    most. `layout`: of LAYOUTS.

    `meters`, if it is not 0, is how many elements the ARRAY `meters` has, METER_SIZE bytes each: a
    bpf_spin_lock, u32 0, u64[2] what the rule's buckets lack in bits (or packets) times ns a
    second, u64 when
    that was (ns, CLOCK_MONOTONIC). Zeros are full buckets.

    `at`: of each role, where its ports are attached; nothing where all are at XDP, or, if that is
    the `hook`, at tc.ingress. Where roles are at tc, and the `hook` is XDP, there is a second
    object, NAME.tc.bpf.o, which has the same programs for tc and the same maps, but PROG_ARRAYs and
    `scratch` of its own; `tc`: its SHA-256. The edge's YAML may have a port elsewhere than its role
    says.

    `bare`: roles whose ports have packets without a link header (`link ip`); the JSON says it
    where there are some.

    If `flows`, there is an ARRAY `flows`, mmapable, of so many bytes: the flow cache of the
    programs that are loaded with it, FLOWS for each CPU; zero at first. As the object has it, it is
    for one CPU."""

    format: int
    pipeline: str
    source: str  # file name of the .hp file
    digest: str  # SHA-256 of the object, hex
    join: str
    roles: tuple[str, ...]
    default: Literal["pass", "drop"]
    elements: tuple[Element, ...]
    rules: tuple[RuleKind, ...]
    counters: tuple[Counter, ...]
    programs: tuple[Program, ...]
    scratch: Scratch
    max_ports: int
    forwards: bool = True
    routes: bool = True
    answers: tuple[str, ...] = ()
    target: Literal["host", "nfp"] = "host"
    hook: Literal["xdp", "tc"] = "xdp"
    atomic: Literal["request", "rule"] = "request"
    states: tuple[State, ...] = ()
    doc: str = ""
    anatomy: ParseGraph | None = None
    layout: int = 1
    counts: int = 0
    flows: int = 0
    events: EventRing | None = None
    meters: int = 0
    sums: bool = False
    at: tuple[AttachPoint, ...] = ()
    tc: str = ""
    bare: tuple[str, ...] = ()

    def attach_point(self, role: int) -> AttachPoint:
        """Of a role, by its number."""
        if self.at:
            return self.at[role]
        return "xdp" if self.hook == "xdp" else "tc.ingress"

    def has_programs(self, at: str) -> bool:
        """Whether a port can be at this attach point."""
        return self.hook == "xdp" if at == "xdp" else self.hook == "tc" or bool(self.tc)

    def rule(self, name: str) -> RuleKind:
        return next(r for r in self.rules if r.name == name)

    def element(self, name: str) -> Element:
        return next(e for e in self.elements if e.name == name)

    def entry(self, role: str) -> Program:
        return next(p for p in self.programs if p.role == role and p.slot is None)

    def to_json(self) -> str:
        """Where all is at XDP as releases before wrote it, who read it too."""
        said = asdict(self)
        if self.hook == "xdp":
            del said["hook"]
        if not self.at:
            del said["at"], said["tc"]
        if not self.bare:
            del said["bare"]
        if self.routes:
            del said["routes"]
        return json.dumps(said, indent=1)


class ManifestError(Exception):
    """The text is no manifest of this format; says what is wrong."""
