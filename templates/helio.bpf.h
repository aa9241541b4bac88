/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What every generated program stands on. Plain C that compiles alone; the templates only loop over
 * tables and place names that arrive computed. Build with -fno-strict-aliasing.
 *
 * HELIO_CARD: for a program that runs on a network card, which has less: see card.bpf.c.j2.
 * HELIO_TC: for one at tc, which is given an skb: what it does in another way is in tc.bpf.h.
 */
#ifndef HELIO_BPF_H
#define HELIO_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
/* An IPv6 address. Aligned as the two words that it is made of: records and stacks have no more. */
typedef unsigned __int128 u128 __attribute__((aligned(8)));

/* Debug information has the lines of a pipeline's stages (SHOWN_INLINE), which the verifier and bpftool quote.
 * Of a helper that is inlined it has the line of the call, and it has no local variables of either: nothing
 * in the kernel reads those, and clang would spend a quarter of its time on them. */
#undef __always_inline
#define SHOWN_INLINE inline __attribute__((always_inline))
#define __always_inline SHOWN_INLINE __attribute__((nodebug))
#define LOCALS_WITHOUT_DEBUG                                                                        \
	_Pragma("clang attribute push(__attribute__((nodebug)), apply_to = variable(unless(is_parameter)))")
#define LOCALS_AS_USUAL _Pragma("clang attribute pop")

/* a > b for numbers below 2^63, without bounds in the verifier that would multiply its states */
#define BEATS(a, b) ((long)((u64)(b) - (u64)(a)) < 0)
/* For conditions that few packets meet: clang moves their code out of the common path. */
#ifndef unlikely
#define unlikely(c) __builtin_expect(!!(c), 0)
#define likely(c) __builtin_expect(!!(c), 1)
#endif
/* A goto whose operands clang must not compute in front of the test, where every packet would run them.
 * Each is different: clang would merge equal ones, and make `p & -c` of a pointer that is null on one way. */
#define GOTO(label)                                                                                 \
	do {                                                                                        \
		asm volatile("" : : "i"(__COUNTER__));                                              \
		goto label;                                                                         \
	} while (0)
/* Of a parser: it goes on at the node behind the header at `p`, or stops, which counts an event. */
#define NEXT(node)                                                                                  \
	do {                                                                                        \
		p += size;                                                                          \
		at += size;                                                                         \
		goto node;                                                                          \
	} while (0)
#define STOP(label, number)                                                                         \
	do {                                                                                        \
		event = number;                                                                     \
		GOTO(label);                                                                        \
	} while (0)
/* What a program is given, and in which of its members the interface of arrival is. */
#ifdef HELIO_TC
#define CONTEXT struct __sk_buff
#define ARRIVAL ifindex
#define PARTIAL cb[4] /* while a packet is here: whether its checksum covers the pseudo header only */
#else
#define CONTEXT struct xdp_md
#define ARRIVAL ingress_ifindex
#endif
#define CONTINUE (-1) /* a stage that fell out of its end */
#define MAX_OFFSET 0x7fff /* the verifier's bound on a variable packet offset */
#define MAX_PUT 0x1fff /* bytes of headers that are put, at most */

#define ARRAY_MAP(name, type_, entries, flags)                                                      \
	struct {                                                                                    \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                   \
		__uint(max_entries, entries);                                                       \
		__uint(map_flags, flags);                                                           \
		__type(key, u32);                                                                   \
		__type(value, type_);                                                               \
	} name SEC(".maps")
#define PERCPU_MAP(name, type_, entries)                                                            \
	struct {                                                                                    \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);                                            \
		__uint(max_entries, entries);                                                       \
		__type(key, u32);                                                                   \
		__type(value, type_);                                                               \
	} name SEC(".maps")
#define HASH_MAP(name, key_, value_, entries)                                                       \
	struct {                                                                                    \
		__uint(type, BPF_MAP_TYPE_HASH);                                                    \
		__uint(max_entries, entries);                                                       \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                               \
		__type(key, key_);                                                                  \
		__type(value, value_);                                                              \
	} name SEC(".maps")
#define LRU_MAP(name, words, value_, entries)                                                       \
	struct {                                                                                    \
		__uint(type, BPF_MAP_TYPE_LRU_HASH);                                                \
		__uint(max_entries, entries);                                                       \
		__uint(key_size, 8 * (words));                                                      \
		__type(value, value_);                                                              \
	} name SEC(".maps")
#define STAGES_MAP(name, entries)                                                                   \
	struct {                                                                                    \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY);                                              \
		__uint(max_entries, entries);                                                       \
		__type(key, u32);                                                                   \
		__type(value, u32);                                                                 \
	} name SEC(".maps")

#ifndef HELIO_CARD
/* ---- the two planes' shared structures: see lang/contract/manifest/manifest.py --------------- */

/* Where to send a frame. `resolved` is 0 until the runtime knows the MAC addresses. */
struct next_hop {
	u32 port;
	u16 mtu; /* of the network layer, bytes */
	u16 vlan; /* tag control information of the port's tag, host order; 0: untagged */
	u8 mac[12]; /* destination, source: as they stand in the frame */
	u8 resolved;
	u8 reserved[3];
};

struct port {
	u32 ifindex;
	u16 mtu;
	u16 vlan;
	u8 mac[6];
	u8 role;
	u8 in_use;
	u32 address; /* network order; 0 if the port has none */
	u32 routed; /* ifindex by which the kernel routes: the VLAN interface's, where there is one */
	u128 address6; /* as `address` */
};

/* Of an index: where entries of keys with such tags may be; how many keys went past, as it was full. */
struct bucket {
	u8 tag[6];
	u16 past;
	u32 number[6];
};

struct counts {
	u64 packets;
	u64 bytes;
};

struct neighbour_key {
	u32 port;
	u32 address; /* network order */
};

struct neighbour_key6 {
	u32 port;
	u32 reserved;
	u128 address; /* network order */
};

struct control {
	u64 epoch; /* the last committed transaction; cells compare its low 16 bits */
	u64 default_verdict; /* enum xdp_action */
	u64 writer[5]; /* the control plane's own notes */
	u64 seed; /* of the hash of keys that packets bring; secret, or a sender could choose keys of one set */
	/* In front of `local` and `local6`, as a hash costs a tenth of a packet's time: a bit for each hash of
	 * an address, set if the host has no address of that hash. All 0: nothing is known. */
	u64 not_local[64];
	u64 fixed_time; /* of test runs: what the clock says, in ns; 0: the kernel's */
	u64 fixed_random; /* of test runs: what chance gives, and 1; 0: what the kernel draws */
	u64 utc_ahead; /* ns that CLOCK_REALTIME is ahead of CLOCK_MONOTONIC (behind: below 0), */
	u64 tai_ahead; /* and CLOCK_TAI of CLOCK_REALTIME; */
	u64 clock_error; /* how wrong they may be, ns, */
	u64 published; /* as of this time; 0: nobody knows */
};

ARRAY_MAP(control, struct control, 1, BPF_F_MMAPABLE);
ARRAY_MAP(ports, struct port, 64, BPF_F_MMAPABLE);
HASH_MAP(port_numbers, u32, u32, 256); /* by ifindex */
/* In front of these, as a hash costs a fifth of a packet's time: by the lower bits of the ifindex
 * (which stands in the lower half) one of the ports that share them. */
ARRAY_MAP(port_slots, u64, 256, BPF_F_MMAPABLE);
HASH_MAP(local, u32, u8, 4096); /* the host's addresses, network order */
HASH_MAP(neighbours, struct neighbour_key, struct next_hop, 16384);
HASH_MAP(local6, u128, u8, 4096);
HASH_MAP(neighbours6, struct neighbour_key6, struct next_hop, 16384);
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 64);
	__type(key, u32);
	__type(value, u32);
} egress SEC(".maps"); /* by port number */

#endif /* HELIO_CARD */
/* ---- bytes ----------------------------------------------------------------------------------- */

#define load8(p, o) (*(const u8 *)((const void *)(p) + (o)))
#define load16(p, o) (*(const u16 *)((const void *)(p) + (o)))
#define load32(p, o) (*(const u32 *)((const void *)(p) + (o)))
#define load64(p, o) (*(const u64 *)((const void *)(p) + (o)))
#define load128(p, o) (*(const u128 *)((const void *)(p) + (o)))
#define load_be16(p, o) bpf_ntohs(load16(p, o))
#define load_be32(p, o) bpf_ntohl(load32(p, o))
#define load_be64(p, o) bpf_be64_to_cpu(load64(p, o))
#define load_be128(p, o) swap128(load128(p, o))
#define store8(p, o, v) (*(u8 *)((void *)(p) + (o)) = (v))
#define store16(p, o, v) (*(u16 *)((void *)(p) + (o)) = (v))
#define store32(p, o, v) (*(u32 *)((void *)(p) + (o)) = (v))
#define store64(p, o, v) (*(u64 *)((void *)(p) + (o)) = (v))
#define store128(p, o, v) (*(u128 *)((void *)(p) + (o)) = (v))
#define store_be16(p, o, v) store16(p, o, bpf_htons(v))
#define store_be32(p, o, v) store32(p, o, bpf_htonl(v))
#define store_be64(p, o, v) store64(p, o, bpf_cpu_to_be64(v))
#define store_be128(p, o, v) store128(p, o, swap128(v))

/* 128 bits from network order to that of the host, or back. */
static __always_inline u128 swap128(u128 value)
{
	return (u128)bpf_be64_to_cpu((u64)value) << 64 | bpf_be64_to_cpu((u64)(value >> 64));
}

/* Hide a value's origin from clang, so that it neither merges two maps' lookups into one indirect
 * call nor drops a bound that only the verifier needs. */
#ifndef barrier_var
#define barrier_var(v) asm volatile("" : "+r"(v))
#endif

/* 1: a < b. Without a branch: the verifier follows both ways of each, and what a value was compared with before
 * decides comparisons to come, so that it meets each combination. */
static __always_inline u64 is_below(u64 a, u64 b)
{
	u64 borrow = (~a & b) | (~(a ^ b) & (a - b));

	barrier_var(borrow); /* or clang branches */
	return borrow >> 63;
}

static __always_inline u64 smaller_of(u64 a, u64 b)
{
	return b ^ ((a ^ b) & -is_below(a, b));
}

static __always_inline u64 larger_of(u64 a, u64 b)
{
	return a ^ ((a ^ b) & -is_below(a, b));
}

/* The largest there is where the sum is more, and 0 where the difference is less than that. */
static __always_inline u64 add_limited(u64 a, u64 b)
{
	return (a + b) | -is_below(a + b, a);
}

static __always_inline u64 subtract_limited(u64 a, u64 b)
{
	return (a - b) & (is_below(a, b) - 1);
}

static __always_inline u32 opaque(u32 v)
{
	barrier_var(v);
	return v;
}

/* Let clang think that a value is needed here. */
#define USED(v) asm volatile("" : : "r"(v))

/* Whether a pointer is not null: a branch of its own, which clang does not fold with others into one
 * on the bits of several pointers. The verifier takes no arithmetic on them. */
static __always_inline int is_not_null(const void *p)
{
	asm goto("if %0 == 0 goto %l[absent]" : : "r"(p) : : absent);
	return 1;
absent:
	return 0;
}

/* Of a pointer that is kept, which clang must not know to be null on one of the ways that lead here: it
 * would go on from there with a copy of what follows, see it read by a null pointer, and leave that way
 * without an end, for which the verifier refuses the program. */
#ifdef HELIO_CARD
#define not_null(p) is_not_null(p)
#else
#define not_null(p) ({ barrier_var(p); is_not_null(p); })
#endif

/* The end of the packet, read again; the context's address stays as it is, as the verifier requires. */
static __always_inline void *limit_of(CONTEXT *ctx)
{
	barrier_var(ctx);
	return (void *)(long)ctx->data_end;
}

#ifdef HELIO_TC
static __always_inline void *begin_of(CONTEXT *ctx)
{
	barrier_var(ctx);
	return (void *)(long)ctx->data;
}
#else
/* Bytes of the frame as it is now. Subtracted in 64 bits: the verifier refuses pointers in 32. */
static __always_inline u64 frame_length(CONTEXT *ctx)
{
	u64 length = (long)ctx->data_end - (long)ctx->data;

	barrier_var(length);
	return length;
}
#endif

/* A place in the packet, with a bound that clang cannot see through and so cannot drop. */
static __always_inline void *packet_at(void *data, u32 at)
{
	if (__builtin_constant_p(at))
		return data + at;
	barrier_var(at);
	return data + (at & MAX_OFFSET);
}

/* The same among headers that are put, of which a frame has room for less. Some of these behind each
 * other stay below what the verifier follows, 65,535 bytes in all. */
static __always_inline void *pushed_at(void *begin, u32 at)
{
	if (__builtin_constant_p(at))
		return begin + at;
	barrier_var(at);
	return begin + (at & MAX_PUT);
}

#define ABSENT 0xffff /* where a header would start that the packet lacks */

/* Where a header starts that was moved by `by` bytes, if the packet has it. */
static __always_inline u32 moved(u32 at, u32 by)
{
	return at == ABSENT ? at : at + by;
}

/* Where a link header starts that a pop leaves only if it is in front of all else: in front of `link`. */
static __always_inline u32 leading(u32 at, u32 link)
{
	return at < link ? at : ABSENT;
}

/* The header that starts at byte `at`, of which `size` bytes are there; 0 if there is none. */
static __always_inline void *header_at(CONTEXT *ctx, u32 at, u32 size)
{
	void *header;

	if (at == ABSENT)
		return 0;
	header = packet_at((void *)(long)ctx->data, at);
	barrier_var(header); /* one pointer for the check and for every use */
	if (header + size > limit_of(ctx))
		return 0;
	if (!header)
		__builtin_unreachable();
	return header;
}

/* The same of a header that is there, whatever there is of it: its caller asks. */
static __always_inline void *there_at(CONTEXT *ctx, u32 at)
{
	void *header = packet_at((void *)(long)ctx->data, at);

	barrier_var(header);
	return header;
}

/* Behind here the verifier knows nothing of what is in memory: all ways that led here are one. */
#ifndef barrier
#define barrier() asm volatile("" ::: "memory")
#endif

#ifndef HELIO_CARD
/* ---- rules: see lang/contract/manifest/manifest.py --------------------------------------------
 *
 * Given a kind's maps and sizes as constants, clang makes code of its own for it. `words`: how many
 * a key has; `by_priority`: the kind's rules have priorities, which come before their ranks.
 */

/* The maps of every rule kind. */
#define RULE_MAPS(kind, cells_, records, slots, image_size)                                        \
	struct kind##_image {                                                                      \
		u8 bytes[image_size];                                                              \
	};                                                                                         \
	ARRAY_MAP(kind##_cells, u64, cells_, BPF_F_MMAPABLE);                                      \
	ARRAY_MAP(kind##_records, struct kind##_record, records, BPF_F_MMAPABLE);                  \
	ARRAY_MAP(kind##_images, struct kind##_image, slots, BPF_F_MMAPABLE)

/* And of a kind that is looked up by a key. A directory has tuples in falling order of their best
 * priority and rank. */
#define KEY_MAPS(kind, words, entry_words, entries_, buckets, tuples_, versions, any_)             \
	struct kind##_entry {                                                                      \
		u64 word[entry_words]; /* the key, the rank, and of some kinds priority, cell */   \
	};                                                                                         \
	struct kind##_directory {                                                                  \
		u32 count;                                                                         \
		u32 cached;                                                                        \
		struct {                                                                           \
			u64 priority;                                                              \
			u64 rank;                                                                  \
			u64 mask[words];                                                           \
			u64 tag; /* the tuple's number, where it stands in the key's last word */ \
		} tuple[tuples_];                                                                  \
		u64 any[any_]; /* of cached kinds the bits that any of the masks has */            \
	};                                                                                         \
	ARRAY_MAP(kind##_tuples, struct kind##_directory, versions, BPF_F_MMAPABLE);               \
	ARRAY_MAP(kind##_entries, struct kind##_entry, entries_, BPF_F_MMAPABLE);                  \
	ARRAY_MAP(kind##_index, struct bucket, buckets, BPF_F_MMAPABLE)

#define FILTER_MAP(kind, words)                                                                    \
	struct kind##_filter {                                                                     \
		u64 word[words];                                                                   \
	};                                                                                         \
	ARRAY_MAP(kind##_filter, struct kind##_filter, 1, BPF_F_MMAPABLE)

/* Behind the filter's words, of kinds with bit vectors: a place for the bound of each pair of words, one
 * for each key, and the vectors: two words for each byte of the key and each of its values. */
struct place {
	u64 rank;
	u32 priority;
	u32 cell;
};

struct vectors {
	u64 pairs; /* in use; 0: masks are faster, or there are too many keys */
	u64 unused;
	struct place place[];
};

#define VECTOR_WORDS(pairs, bytes) (2 + 2 * 129 * (pairs) + 512 * (pairs) * (bytes))
#define DE_BRUIJN 0x022fdd63cc95386dULL
/* Of so many keys in a pair of words; with more, packets look under the masks. */
#define MOST_MATCHES 8

/* What all directories have in common, and each tuple in one. */
struct directory {
	u32 count;
	u32 cached;
	u64 tuple[];
};

struct tuple {
	u64 priority;
	u64 rank;
	u64 mask[]; /* of each word, and then the tag */
};

/* A line of the flow cache: to which cell a kind's key led by that epoch; to 0 if to none. */
struct flow_line {
	u64 epoch;
	u32 kind;
	u32 cell;
	u64 key[];
};

/* Of each CPU and kind: the credit that hits in the flow cache gave; without any, one packet of TURNS looks
 * there. */
struct flow_use {
	u16 credit;
	u16 turn;
};

#define MOST_CREDIT 256
#ifndef TURNS
#define TURNS 32
#endif

/* The best entry so far; in a search its rule is there. */
struct best {
	u32 cell;
	u64 priority;
	u64 rank;
};

/* A packet's epoch as cells are compared with it: in the upper 16 bits, with ones below, so that
 * the sign of a difference is that of the epochs', modulo 2^16. */
static __always_inline u64 epoch_of(u64 committed)
{
	return committed << 48 | 0xffffffffffffULL;
}

/* A cell: old slot (24 bits), new slot (24), the epoch from which the new one holds (16). */
static __always_inline u32 cell_slot(u64 cell, u64 epoch)
{
	return ((long)(epoch - cell) >= 0 ? cell >> 24 : cell) & 0xffffff;
}

/* The slot of the rule in a cell; 0 if none is there at this epoch. */
static __always_inline u32 slot_in(void *cells, u32 cell, u64 epoch)
{
	u64 *c = bpf_map_lookup_elem(cells, &cell);

	return c ? cell_slot(*(volatile u64 *)c, epoch) : 0;
}

/* Which record is that of the rule of a place, which has a slot: one of two, which for an odd slot is `odd` further.
 * A branch says which, as that is predicted: the record is fetched beside the cell. 0 if no rule is there. */
static __always_inline u32 record_of(u32 slot, u32 place, u32 odd)
{
	if (!slot)
		return 0;
	if (slot & 1) {
		place += odd;
		barrier_var(place);
	}
	return place;
}

static __always_inline u32 record_in(void *cells, u32 cell, u64 epoch, u32 odd)
{
	return record_of(slot_in(cells, cell, epoch), cell, odd);
}

/* The cell, in the upper half, and the record of the rule that is there; 0 if none is at this epoch. */
static __always_inline u64 rule_in(void *cells, u32 cell, u64 epoch, u32 odd)
{
	u32 record = cell ? record_in(cells, cell, epoch, odd) : 0;

	return record ? (u64)cell << 32 | record : 0;
}

/* The same of a kind whose rules have two cells, `places` from each other, of which one is empty at each epoch: a
 * look-up finds one of them, all others know the rule by its place. */
static __always_inline u32 slot_of_two(void *cells, u32 place, u64 epoch, u32 places)
{
	u32 slot = slot_in(cells, place, epoch);

	return slot ? slot : slot_in(cells, place + places, epoch);
}

static __always_inline u32 record_of_two(void *cells, u32 place, u64 epoch, u32 places)
{
	return record_of(slot_of_two(cells, place, epoch, places), place, places);
}

static __always_inline u64 rule_of_two(void *cells, u32 cell, u64 epoch, u32 places)
{
	u32 place = cell, record;

	if (cell >= places) {
		place = cell - places;
		barrier_var(place);
	}
	record = cell ? record_of(slot_in(cells, cell, epoch), place, places) : 0;
	return record ? (u64)place << 32 | record : 0;
}

/* Have memory in the cache soon: BPF has no instruction for that, but nothing waits for this load. */
static __always_inline void fetch(const void *p)
{
	if (p)
		*(const volatile u8 *)p;
}

/* Rules of lower numbers are in the cache where there are no others, and to fetch them would cost a look-up or three. */
#define NEAR_RULES 2048

/* A rule's cell, and its record if that changed an even number of times. A record may end in one line more, unless
 * its size divides a line's or is a multiple of it. */
static __always_inline void fetch_rule(void *cells, void *records, u32 cell, u32 size)
{
	const void *p = bpf_map_lookup_elem(records, &cell);

	fetch(bpf_map_lookup_elem(cells, &cell));
	if (!p)
		return;
#pragma clang loop unroll(full)
	for (u32 at = 0; at < size; at += 64)
		fetch(p + at);
	if (size % 64 && 64 % size)
		fetch(p + size - 1);
}

static __always_inline void *first_of(void *map)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(map, &zero);
}

/* Cell 0 of a kind: where its keys are looked up. */
static __always_inline u64 root_of(void *cells)
{
	u64 *c = first_of(cells);

	return c ? *(volatile u64 *)c : 0;
}

/* The directory. */
static __always_inline void *directory_of(void *tuples, u64 root)
{
	u32 version = root & 0xffffff;

	return bpf_map_lookup_elem(tuples, &version);
}

/* Whether a kind of fixed masks has equal matches, which only the directory leads to. */
static __always_inline int crowded(u64 root)
{
	return root >> 48 & 1;
}

/* The same of a kind whose index has one size, log2 of its buckets. */
#define IN_INDEX_OF(log) ((u64)(64 - (log)) << 49)

static __always_inline int beats(u64 priority, u64 rank, u64 other_priority, u64 other_rank,
				 int by_priority)
{
	if (!by_priority)
		return BEATS(rank, other_rank);
	return BEATS(priority, other_priority) ||
	       (priority == other_priority && BEATS(rank, other_rank));
}

/* `i` has 64 bits: of one of 32 the verifier loses the bound in the shifts of -mcpu=v2. */
static __always_inline const struct tuple *tuple_at(const struct directory *directory, u64 i,
						    u32 words)
{
	return (const struct tuple *)&directory->tuple[i * (words + 3)];
}

/* Whether there is a tuple `i`, and its best entry may be better than the best so far. */
static __always_inline int may_beat(const struct directory *directory, u64 i, u32 words,
				    const struct best *best, int by_priority)
{
	const struct tuple *t = tuple_at(directory, i, words);

	return i < directory->count &&
	       !beats(best->priority, best->rank, t->priority, t->rank, by_priority);
}

/* The key under which tuple `i` would have an entry for `key`. */
static __always_inline void mask_key(u64 *masked, const u64 *key,
				     const struct directory *directory, u64 i, u32 words)
{
	const struct tuple *t = tuple_at(directory, i, words);

#pragma clang loop unroll(full)
	for (u32 word = 0; word < words; word++)
		masked[word] = key[word] & t->mask[word];
	masked[words - 1] |= t->mask[words];
}

#ifndef HASH_FACTOR /* a test's is worse */
#define HASH_FACTOR 0x9e3779b97f4a7c15ULL
#endif

static __always_inline u64 hash_of(const u64 *key, u32 words)
{
	u64 sum = 0, power = 1;

#pragma clang loop unroll(full)
	for (u32 i = 0; i < words; i++) {
		power *= HASH_FACTOR;
		sum += key[i] * power;
	}
	return (sum ^ sum >> 32) * HASH_FACTOR;
}

/* Whether there may be an entry of a key of that hash: what a Bloom filter of `1 << bits` bits says. */
static __always_inline int may_hold(const u64 *filter, u64 hash, u32 bits)
{
	return !filter || filter[hash >> (70 - bits)] >> (hash >> (64 - bits) & 63) & 1;
}

#define GO_ON 0xffffffff /* the entry may be in the next bucket */

/* Where a key of that hash is looked for first: the number of a bucket of the index in use, and above it the
 * key's tag. It is in the first of the buckets from there on that had room for it, in pairs, which share a
 * cache line: NEXT_BUCKET says the others. */
static __always_inline u64 place_of(u64 hash, u64 root)
{
	u64 tag = hash >> 8 & 0xff, less = tag - 1, first = (1ULL << (root >> 55 & 63)) & ~1ULL;

	barrier_var(less); /* or clang branches */
	return (tag | less >> 63) << 32 | (first + (hash >> (root >> 49 & 63)));
}

#define NEXT_BUCKET(place, i) (((place) + ((i) & ~1)) ^ ((i) & 1))

static __always_inline void copy_key(u64 *to, const u64 *key, u32 words)
{
#pragma clang loop unroll(full)
	for (u32 i = 0; i < words; i++)
		to[i] = key[i];
}

static __always_inline int same_key(const u64 *entry, const u64 *key, u32 words)
{
#pragma clang loop unroll(full)
	for (u32 i = 0; i < words; i++)
		if (entry[i] != key[i])
			return 0;
	return 1;
}

/* The number of the key's entry, if the bucket leads there, and the entry; else 0 or GO_ON. All tags are
 * compared at once: in `hits` the upper bit of each byte says whether it was zero, or it is above such a one. */
static __always_inline u32 in_bucket(void *index, void *entries, u64 place, const u64 *key, u32 words, u64 **found)
{
	u32 at = place, number, n;
	struct bucket *bucket = bpf_map_lookup_elem(index, &at);
	u64 tags, hits, lowest, *entry;

	*found = 0;
	if (!bucket)
		return 0;
	tags = *(volatile u64 *)bucket;
	hits = tags ^ (place >> 32) * 0x010101010101ULL;
	hits = (hits - 0x010101010101ULL) & ~hits & 0x808080808080ULL;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 6 && hits; i++) {
		lowest = hits & -hits;
		hits ^= lowest;
		n = (lowest >> 7) * 0x0001020304050607ULL >> 56; /* 8 n is the bit that is set */
		barrier_var(n); /* or clang tests the product, of which the verifier learns less */
		if (n > 5)
			return 0;
		number = *(volatile u32 *)&bucket->number[n];
		entry = bpf_map_lookup_elem(entries, &number);
		if (entry && same_key(entry, key, words)) {
			*found = entry;
			return number;
		}
	}
	return tags >> 48 ? GO_ON : 0;
}

/* The last epoch at which keys of a kind were added or removed. The writer stores it in slot 0 of the
 * directories before it commits that epoch. */
static __always_inline u64 keys_since(void *tuples)
{
	u64 *since = first_of(tuples);

	return since ? *(volatile u64 *)since : ~0ULL;
}

/* The 64 bits of a packet's epoch while that is the current one; else 0. */
static __always_inline u64 whole_epoch(u64 epoch)
{
	struct control *c = first_of(&control);
	u64 last = c ? *(volatile u64 *)&c->epoch : 0;

	return epoch_of(last) == epoch ? last : 0;
}

/* Whether this packet looks in the flow cache: where hits are rare, one of TURNS. */
static __always_inline int worth_asking(struct flow_use *use)
{
	use->turn += 1;
	return use->credit || !(use->turn % TURNS);
}

/* A miss costs about what a hit gains. */
static __always_inline void count_flow(struct flow_use *use, int hit)
{
	if (hit)
		use->credit += use->credit < MOST_CREDIT;
	else
		use->credit -= use->credit > 0;
}

/* The bits of a key that any rule asks for; a directory has `tuples`. */
static __always_inline void mask_flow(u64 *masked, const u64 *key, const struct directory *directory,
				      u32 tuples, u32 words)
{
	const u64 *any = &directory->tuple[tuples * (words + 3)];

#pragma clang loop unroll(full)
	for (u32 i = 0; i < words; i++)
		masked[i] = key[i] & any[i];
}

/* Whether the line is of the masked key, and no key of the kind was added or removed since. */
static __always_inline int is_flow(const struct flow_line *flow, u32 kind, void *tuples, const u64 *masked,
				   u32 words)
{
	return flow->kind == kind && flow->epoch >= keys_since(tuples) && same_key(flow->key, masked, words);
}

/* Give the line to a key; it is invalid until `keep_flow`. */
static __always_inline void begin_flow(struct flow_line *flow, const u64 *masked, u32 words)
{
	flow->kind = 0;
	copy_key(flow->key, masked, words);
}

static __always_inline void keep_flow(struct flow_line *flow, u64 epoch, u32 kind, u32 cell)
{
	flow->epoch = epoch;
	flow->kind = kind;
	flow->cell = cell;
}

/* The bit vectors behind the filter's words. */
static __always_inline const struct vectors *vectors_of(void *filter, u32 words)
{
	const u64 *first = first_of(filter);

	if (!first)
		return 0;
	barrier_var(first); /* or clang adds before it asks, which Linux 5.10 refuses */
	return (const struct vectors *)(first + words);
}

/* How many pairs of words a packet is to look at; it reads that once. */
static __always_inline u64 pairs_of(const struct vectors *vectors)
{
	return vectors ? *(volatile u64 *)&vectors->pairs : 0;
}

/* Whether the best key of a pair of words may be better than the best so far. Bounds rise, the priority
 * before the rank: read the other way round they are no less than they were. */
static __always_inline int pair_may_beat(const struct vectors *vectors, u32 i, const struct best *best,
					 int by_priority)
{
	const volatile struct place *bound = &vectors->place[i];
	u64 rank = bound->rank;

	return !beats(best->priority, best->rank, by_priority ? bound->priority : 0, rank, by_priority);
}

/* The vectors of a pair of words for values of one byte of the key; `at` is 16 times the value. */
#define TAKE_BYTE(vectors, number, at)                                                              \
	do {                                                                                        \
		const u64 *taken = (const void *)(vectors) + 4096 * (number) + (at);                \
                                                                                                    \
		low &= taken[0];                                                                    \
		high &= taken[1];                                                                   \
	} while (0)

/* The best of the keys whose bits are left, and of `best`, which is in a map: of what is there the verifier
 * knows nothing, so it follows one way. 0: these are too many. */
static __always_inline int take_matches(struct best *best, const struct place *places, u64 low, u64 high,
					int by_priority)
{
	_Pragma("clang loop unroll(disable)")
	for (u32 i = 0; low | high; i++) {
		const struct place *place;
		u64 lowest;

		if (i == MOST_MATCHES)
			return 0;
		if (!low) {
			low = high;
			high = 0;
			places += 64;
		}
		lowest = low & -low;
		low ^= lowest;
		place = &places[lowest * DE_BRUIJN >> 58];
		if (beats(place->priority, place->rank, best->priority, best->rank, by_priority)) {
			best->priority = place->priority;
			best->rank = place->rank;
			best->cell = place->cell;
		}
		barrier();
	}
	return 1;
}

/* KIND_number: the number of the entry of the masked key in the scratch record, by its place; 0 if there is none.
 * KIND_number_here: of a key that is elsewhere, with the first bucket, where most keys are, inlined. `most`: in how
 * many buckets a key may be. */
#define KEY_INDEX(kind, words, most)                                                                \
	__noinline u32 kind##_in_bucket(u64 place)                                                  \
	{                                                                                           \
		struct scratch *s = scratch_of();                                                   \
		u64 *entry;                                                                         \
                                                                                                    \
		return s ? in_bucket(&kind##_index, &kind##_entries, place, s->masked, words,       \
				     &entry) :                                                      \
			   0;                                                                       \
	}                                                                                           \
                                                                                                    \
	static __always_inline u32 kind##_number_of(u64 place)                                      \
	{                                                                                           \
		_Pragma("clang loop unroll(disable)")                                               \
		for (u32 i = 0; i < most; i++) {                                                    \
			u32 number = kind##_in_bucket(NEXT_BUCKET(place, i));                       \
                                                                                                    \
			if (number != GO_ON)                                                        \
				return number;                                                      \
		}                                                                                   \
		return 0;                                                                           \
	}                                                                                           \
                                                                                                    \
	__noinline u32 kind##_number(u64 place)                                                     \
	{                                                                                           \
		return kind##_number_of(place);                                                     \
	}                                                                                           \
                                                                                                    \
	static __always_inline u32 kind##_number_here(u64 place, const u64 *masked, u64 **entry)    \
	{                                                                                           \
		u32 number = in_bucket(&kind##_index, &kind##_entries, place, masked, words, entry); \
		struct scratch *s;                                                                  \
                                                                                                    \
		if (likely(number != GO_ON))                                                        \
			return number;                                                              \
		s = scratch_of();                                                                   \
		if (!s)                                                                             \
			return 0;                                                                   \
		copy_key(s->masked, masked, words);                                                 \
		number = kind##_number(place);                                                      \
		*entry = number ? bpf_map_lookup_elem(&kind##_entries, &number) : 0;                \
		return number;                                                                      \
	}                                                                                           \
	struct kind##_indexed /* takes the semicolon */

/* What an entry says behind its key. */
static __always_inline u64 rank_in(const u64 *entry, u32 words)
{
	return entry[words];
}

static __always_inline u32 priority_in(const u64 *entry, u32 words)
{
	return entry[words + 1];
}

/* The cell of an entry: its number, but of the further keys of a rule with ranges. `cells`: 0 of a kind
 * without these. The verifier learns nothing of the number: it would follow small and large ones apart. */
static __always_inline u32 cell_in(const u64 *entry, u32 number, u32 words, u32 cells)
{
	u64 beyond = (u64)number - cells;

	barrier_var(beyond);
	if (!cells || (long)beyond < 0)
		return number;
	return entry[words + 1] >> 32;
}

/* An entry is the best so far, if it has the higher rank. Of a kind without ranges. */
static __always_inline void take_better(const u64 *entry, u32 number, u32 words, struct best *best)
{
	if (entry && BEATS(rank_in(entry, words), best->rank)) {
		best->rank = rank_in(entry, words);
		best->cell = number;
	}
}

/* An entry that matches: the best so far, unless an earlier one is better, or its cell is empty at this epoch
 * (then the next best may be there). `epoch` 0: whatever the cell is. */
static __always_inline void consider(struct best *best, void *cells, u32 cell, u64 priority,
				     u64 rank, u64 epoch, int by_priority)
{
	if (!beats(priority, rank, best->priority, best->rank, by_priority))
		return;
	if (epoch && !slot_in(cells, cell, epoch))
		return;
	best->cell = cell;
	best->rank = rank;
	if (by_priority)
		best->priority = priority;
}

/* KIND_under: what lies under mask `i` for the key in the scratch record, where the best so far is, too: so the
 * verifier walks this once, and not once for each mask. 0: no further mask can have a better one. `bits`: log2
 * of the filter's, 0 without one; `in_index`: what says so of the index, the root or a constant.
 *
 * KIND_search: the best of the rules that are there at this epoch. The root stays that of the beginning. */
#define KEY_SEARCH(kind, words, cells_, tuples, bits, filter, by_priority, in_index)                \
	__noinline int kind##_under(u64 i, u64 root, u64 epoch)                                     \
	{                                                                                           \
		struct scratch *s = scratch_of();                                                   \
		const void *directory = directory_of(&kind##_tuples, root);                         \
		u64 hash, *entry;                                                                   \
		u32 number;                                                                         \
                                                                                                    \
		if (!s || !directory || i >= tuples ||                                              \
		    !may_beat(directory, i, words, &s->best, by_priority))                          \
			return 0;                                                                   \
		mask_key(s->masked, s->key, directory, i, words);                                   \
		hash = hash_of(s->masked, words);                                                   \
		if (bits && !may_hold(filter, hash, bits))                                          \
			return 1;                                                                   \
		number = kind##_number_of(place_of(hash, in_index));                                \
		entry = number ? bpf_map_lookup_elem(&kind##_entries, &number) : 0;                 \
		if (entry)                                                                          \
			consider(&s->best, &kind##_cells, cell_in(entry, number, words, cells_),    \
				 by_priority ? priority_in(entry, words) : 0,                       \
				 rank_in(entry, words), epoch, by_priority);                        \
		return 1;                                                                           \
	}                                                                                           \
                                                                                                    \
	__noinline u32 kind##_search(u64 epoch)                                                     \
	{                                                                                           \
		struct scratch *s = begin_search();                                                 \
		u64 root = root_of(&kind##_cells);                                                  \
                                                                                                    \
		if (!s)                                                                             \
			return 0;                                                                   \
		_Pragma("clang loop unroll(disable)")                                               \
		for (u64 i = 0; i < tuples && kind##_under(i, root, epoch); i++)                    \
			;                                                                           \
		return s->best.cell;                                                                \
	}                                                                                           \
	struct kind##_found /* takes the semicolon */

/* KIND_best: the cell of the best entry for a key, whether or not a rule is there; 0 if none matches. The first
 * mask is looked under here: most kinds have no other, or the best rule under it. The choice is a branch: it is
 * predicted, so that what comes behind does not wait for the entry. */
#define KEY_BEST(kind, words, cells_, tuples, bits, by_priority, in_index)                          \
	static __always_inline u32 kind##_best(void *filter, const u64 *key, u64 *masked)           \
	{                                                                                           \
		u64 root = root_of(&kind##_cells), hash, *entry = 0;                                \
		const struct directory *directory = directory_of(&kind##_tuples, root);             \
		struct best best = {};                                                              \
		struct scratch *s;                                                                  \
		u32 number = 0;                                                                     \
                                                                                                    \
		if (!directory || !directory->count)                                                \
			return 0;                                                                   \
		mask_key(masked, key, directory, 0, words);                                         \
		hash = hash_of(masked, words);                                                      \
		/* in one tuple most packets are there to be found */                               \
		if (!bits || directory->count == 1 || may_hold(first_of(filter), hash, bits))       \
			number = kind##_number_here(place_of(hash, in_index), masked, &entry);      \
		if (entry) {                                                                        \
			best.cell = cell_in(entry, number, words, cells_);                          \
			best.rank = rank_in(entry, words);                                          \
			best.priority = by_priority ? priority_in(entry, words) : 0;                \
		}                                                                                   \
		if (!may_beat(directory, 1, words, &best, by_priority))                             \
			return best.cell;                                                           \
		s = scratch_of();                                                                   \
		if (!s)                                                                             \
			return 0;                                                                   \
		s->best = best;                                                                     \
		copy_key(s->key, key, words);                                                       \
		_Pragma("clang loop unroll(disable)")                                               \
		for (u32 i = 1; i < tuples && kind##_under(i, root, 0); i++)                        \
			;                                                                           \
		return s->best.cell;                                                                \
	}                                                                                           \
	struct kind##_searched /* takes the semicolon */

#endif /* HELIO_CARD */
/* ---- checksums (RFC 1071, RFC 1624) ---------------------------------------------------------- */

static __always_inline u16 fold(u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32); /* at most 0x1fffe */
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* The checksum after a 16-bit word went from `old` to `new`; all as they stand in the packet. */
static __always_inline u16 checksum_update(u16 checksum, u16 old, u16 new)
{
	return fold((u64)(u16)~checksum + (u16)~old + new);
}

#ifndef HELIO_CARD
/* The ones' complement sum of the last `length` (< 512) bytes of a range that starts at byte `at`,
 * on top of `sum`. Falling powers of two, so that every call has a constant size; then words. */
__noinline u64 sum_tail(CONTEXT *ctx, u32 at, u32 length, u32 sum)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *p = packet_at(data, at);
	u64 total = sum;

#define SUM_CHUNK(size)                                                                             \
	if (length & (size)) {                                                                      \
		if (p + (size) > end)                                                               \
			return 0;                                                                   \
		total = (u32)bpf_csum_diff(0, 0, p, size, total);                                   \
		p += (size);                                                                        \
	}
	SUM_CHUNK(256)
	SUM_CHUNK(128)
	SUM_CHUNK(64)
	SUM_CHUNK(32)
#undef SUM_CHUNK
#pragma clang loop unroll(disable)
	for (int i = 0; i < 15 && i < (length >> 1 & 15); i++, p += 2) {
		if (p + 2 > end)
			return 0;
		total += load16(p, 0);
	}
	if (length & 1) {
		if (p + 1 > end)
			return 0;
		total += load8(p, 0);
	}
	return (total & 0xffffffff) + (total >> 32);
}

#define MOST_SUMMED 64 /* chunks of 512 bytes: all that an offset can reach */

/* The ones' complement sum of `length` bytes of the frame from byte `at` on. */
static __always_inline u64 sum_bytes(CONTEXT *ctx, u32 at, u32 length)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u64 sum = 0;

#pragma clang loop unroll(disable)
	for (int i = 0; i < MOST_SUMMED; i++) {
		void *p = packet_at(data, at);

		if (length < 512 || p + 512 > end)
			break;
		sum = (u32)bpf_csum_diff(0, 0, p, 512, sum);
		at += 512;
		length -= 512;
	}
	return sum_tail(ctx, at, length & 511, sum);
}

#define OF_IPV6 0x8000

/* By how much the sum of an IPv6 header's addresses changes where its last destination is the first
 * segment of the routing header so many times 8 bytes behind its start (RFC 8754 section 2). */
__noinline u64 other_destination(CONTEXT *ctx, u32 ip, u32 routed)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *p = packet_at(data, ip), *q = packet_at(data, (ip & MAX_OFFSET) + routed * 8);
	u64 sum = 0;

	if (p + 40 > end || q + 24 > end || !load8(q, 3) || load8(q, 1) < 2)
		return 0;
#pragma clang loop unroll(full)
	for (int i = 0; i < 16; i += 4)
		sum += (u64)(u32)~load32(p, 24 + i) + load32(q, 8 + i);
	return sum;
}

/* Write the checksum over `length` bytes from byte `at` on into bytes `field` and on, which are 0
 * so far. `pseudo`: in its lower half the byte at which the IP header starts whose addresses are
 * covered too (0: none), with OF_IPV6 if it is one of IPv6, whatever version it says; in the byte above
 * that the protocol that its pseudo header names (0: as the IP header says), in the last one how many
 * times 8 bytes behind the IP header a segment routing header starts (0: there is none), whose first
 * segment is the last destination. RFC 1071, RFC 9293 section 3.1, RFC 8200 section 8.1. */
__noinline int seal(CONTEXT *ctx, u32 pseudo, u32 at, u32 length, u32 field)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *p;
	u64 sum = sum_bytes(ctx, at, length);
	u32 protocol = pseudo >> 16 & 0xff, routed = pseudo >> 24;
	u16 checksum;

	if (pseudo & 0xffff) {
		p = packet_at(data, pseudo);
		if (p + 20 > end)
			return 0;
		if (!(pseudo & OF_IPV6)) {
			if (!protocol)
				protocol = load8(p, 9);
			sum += (u64)load32(p, 12) + load32(p, 16) + bpf_htons(length);
		} else {
			if (p + 40 > end)
				return 0;
			if (!protocol)
				protocol = load8(p, 6);
#pragma clang loop unroll(full)
			for (int i = 8; i < 40; i += 4)
				sum += load32(p, i);
			sum += bpf_htonl(length);
			if (routed)
				sum += other_destination(ctx, pseudo, routed);
		}
		sum += bpf_htons(protocol);
	}
	checksum = fold(sum);
	if (!checksum && protocol == 17) /* 0 says that there is none (RFC 768) */
		checksum = 0xffff;
	p = packet_at(data, field);
	if (p + 2 > end)
		return 0;
	store16(p, 0, checksum);
	return 1;
}

#endif /* HELIO_CARD */
/* A checksum follows what it covers. `change`: the sum of the complements of what stood there and of
 * what stands there now, in aligned words. Returns the same of the checksum itself, for another that
 * covers it. */
static __always_inline u64 checksum_follow(void *field, u64 change)
{
	u16 old = ~load16(field, 0), new = fold(old + change);

	store16(field, 0, new);
	return (u64)old + new;
}

/* 1 for a 16-bit number that is not 0, else 0: without a branch, which the verifier would follow both
 * ways, and all that comes behind twice. */
static __always_inline u64 is_set(u64 number)
{
	barrier_var(number);
	return (number + 0xffff) >> 16;
}

/* The same of UDP's, where 0 says that there is none (RFC 768). */
static __always_inline u64 udp_checksum_follow(void *field, u64 change)
{
	u16 was = load16(field, 0), old = ~was, new = fold(old + change);
	u64 there = 0 - is_set(was);

	new |= is_set(new) - 1; /* 0xffff in place of 0 */
	store16(field, 0, new & there);
	return ((u64)old + new) & there;
}

/* A sum of words as one word, 0 only of zeros. */
static __always_inline u32 folded(u64 sum)
{
	return (u16)~fold(sum);
}

#ifdef HELIO_TC
/* The same of a checksum that the kernel is to complete: of what it covers only the pseudo header is in it,
 * and not as a complement. What will be there follows as any other. */
static __always_inline u64 partial_checksum_follow(void *field, int pseudo, u64 change)
{
	if (pseudo)
		store16(field, 0, ~fold(load16(field, 0) + change));
	return fold(change);
}
#endif

#ifndef HELIO_CARD
#define UDP_CHECKSUM 0x100
#define UPPER_LAYER 0x200 /* TCP's or UDP's: the kernel may have to complete it */
#define PSEUDO 0x400 /* the pseudo header changed */

/* The checksum `field` bytes into the header at byte `at` follows what it covers, if the packet has
 * that header: `at` is 0 or beyond any offset if not. */
__noinline u64 follow(CONTEXT *ctx, u32 at, u32 field, u64 change)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *p;

	if (!at || at > MAX_OFFSET)
		return 0;
	p = packet_at(data, at + (field & 0xff));
	if (p + 2 > end)
		return 0;
#ifdef HELIO_TC
	if (field & UPPER_LAYER && ctx->PARTIAL)
		return partial_checksum_follow(p, field & PSEUDO, change);
#endif
	return field & UDP_CHECKSUM ? udp_checksum_follow(p, change) : checksum_follow(p, change);
}

#endif /* HELIO_CARD */
/* ---- jhash (Bob Jenkins' lookup3, as Linux's jhash2; above it, 32 more bits) -------------------------- */

#define ROL32(x, k) ((x) << (k) | (x) >> (32 - (k)))

static __always_inline u64 jhash_from(const u32 *word, u32 count, u32 initval)
{
	u32 a = 0xdeadbeef + (count << 2) + initval, b = a, c = a;
	u32 i = 0;

#pragma clang loop unroll(full)
	for (; count - i > 3; i += 3) {
		a += word[i];
		b += word[i + 1];
		c += word[i + 2];
		a -= c; a ^= ROL32(c, 4); c += b;
		b -= a; b ^= ROL32(a, 6); a += c;
		c -= b; c ^= ROL32(b, 8); b += a;
		a -= c; a ^= ROL32(c, 16); c += b;
		b -= a; b ^= ROL32(a, 19); a += c;
		c -= b; c ^= ROL32(b, 4); b += a;
	}
	if (count == i)
		return (u64)b << 32 | c;
	if (count - i > 2)
		c += word[i + 2];
	if (count - i > 1)
		b += word[i + 1];
	a += word[i];
	c ^= b; c -= ROL32(b, 14);
	a ^= c; a -= ROL32(c, 11);
	b ^= a; b -= ROL32(a, 25);
	c ^= b; c -= ROL32(b, 16);
	a ^= c; a -= ROL32(c, 4);
	b ^= a; b -= ROL32(a, 14);
	c ^= b; c -= ROL32(b, 24);
	return (u64)b << 32 | c;
}

static __always_inline u32 jhash_words(const u32 *word, u32 count)
{
	return jhash_from(word, count, 0);
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* 224.0.0.0/4 or 255.255.255.255; `address` in network order. */
static __always_inline int is_multicast(u32 address)
{
	return (address & bpf_htonl(0xf0000000)) == bpf_htonl(0xe0000000);
}

static __always_inline int is_broadcast(u32 address)
{
	return address == 0xffffffff;
}

#ifndef HELIO_CARD
/* Whether the host surely lacks an address; of IPv6 `word` is the halves' difference. */
static __always_inline int is_not_local(u64 word)
{
	const struct control *c = first_of(&control);
	u64 hash = word * 0x9e3779b97f4a7c15ULL;

	return c && c->not_local[hash >> 58] >> (hash >> 52 & 63) & 1;
}

static __always_inline int is_local(u32 address)
{
	return is_multicast(address) || is_broadcast(address) ||
	       (!is_not_local(address) && is_not_null(bpf_map_lookup_elem(&local, &address)));
}
#endif /* HELIO_CARD */

/* ff00::/8 (RFC 4291 section 2.7). */
static __always_inline int is_multicast6(u128 address)
{
	return (u8)address == 0xff;
}

#ifndef HELIO_CARD
static __always_inline int is_local6(u128 address)
{
	return is_multicast6(address) ||
	       (!is_not_local((u64)address ^ (u64)(address >> 64)) &&
		is_not_null(bpf_map_lookup_elem(&local6, &address)));
}
#endif /* HELIO_CARD */

/* fe80::/10, :: or ::1: such an address is not for other links (RFC 4291 sections 2.5.2, 2.5.3, 2.5.6).
 * `p` is where it stands. */
static __always_inline int is_confined_address(void *p)
{
	return (load16(p, 0) & bpf_htons(0xffc0)) == bpf_htons(0xfe80) ||
	       !(load64(p, 0) | (load64(p, 8) & ~bpf_cpu_to_be64(1)));
}

/* Must the packet whose IPv6 header is `ip` stay on its link? Also multicast of scope 2 or less
 * (RFC 4291 section 2.7). */
static __always_inline int is_confined6(void *ip)
{
	return (load8(ip, 24) == 0xff && (load8(ip, 25) & 15) <= 2) ||
	       is_confined_address(ip + 8) || is_confined_address(ip + 24);
}

/* The same of IPv4: 127.0.0.0/8 (RFC 1122 section 3.2.1.3), 169.254.0.0/16 (RFC 3927 section 2.7), and to
 * 224.0.0.0/24 (RFC 5771 section 4) and 255.255.255.255 (RFC 1812 section 5.3.5.1). */
static __always_inline int is_confined(void *ip)
{
	u32 source = load32(ip, 12), target = load32(ip, 16);

	return (source & bpf_htonl(0xff000000)) == bpf_htonl(0x7f000000) ||
	       (source & bpf_htonl(0xffff0000)) == bpf_htonl(0xa9fe0000) ||
	       (target & bpf_htonl(0xff000000)) == bpf_htonl(0x7f000000) ||
	       (target & bpf_htonl(0xffff0000)) == bpf_htonl(0xa9fe0000) ||
	       (target & bpf_htonl(0xffffff00)) == bpf_htonl(0xe0000000) || target == ~0U;
}

#ifndef HELIO_CARD
/* The number of the port that the packet came in by; none has ~0. */
static __always_inline u32 arrival_port(CONTEXT *ctx)
{
	u32 ifindex, at, *number;
	volatile u64 *slot;

	barrier_var(ctx); /* as in limit_of */
	ifindex = ctx->ARRIVAL;
	at = ifindex & 255;
	slot = bpf_map_lookup_elem(&port_slots, &at);
	if (slot) {
		u64 port = *slot; /* read once: the runtime may change it */

		if ((u32)port == ifindex)
			return port >> 32;
	}
	number = bpf_map_lookup_elem(&port_numbers, &ifindex);
	return number ? *number : ~0U;
}

/* ---- the way out ----------------------------------------------------------------------------- */

#ifndef AF_INET
#define AF_INET 2
#define AF_INET6 10
#endif

/* Ask the kernel's FIB and neighbour table, seen from `port`; `fib` says which address. */
#ifdef HELIO_BARE
/* Whether packets of the port have no link header. */
static __always_inline int is_bare(const struct port *port)
{
	return HELIO_BARE >> port->role & 1;
}

#endif
static __always_inline int next_hop_of_fib(CONTEXT *ctx, struct bpf_fib_lookup *fib, struct port *port,
			   u32 number, struct next_hop *hop)
{
#ifdef HELIO_BARE
	if (is_bare(port)) { /* whoever is at its other end */
		*hop = (struct next_hop){ .port = number, .mtu = port->mtu, .resolved = 1 };
		return 1;
	}
#endif
	fib->ifindex = port->routed;
#ifdef HELIO_TC
	fib->tot_len = 1; /* 0: hold the packet against the route's MTU; that is `too_big` later */
#endif
	if (bpf_fib_lookup(ctx, fib, sizeof(*fib), BPF_FIB_LOOKUP_OUTPUT) !=
		    BPF_FIB_LKUP_RET_SUCCESS ||
	    fib->ifindex != port->routed)
		return 0;
	hop->port = number;
	hop->mtu = port->mtu;
	hop->vlan = port->vlan;
	__builtin_memcpy(hop->mac, fib->dmac, 6);
	__builtin_memcpy(hop->mac + 6, fib->smac, 6);
	hop->resolved = 1;
	return 1;
}

/* By the kernel's FIB and neighbour table, seen from port `number`: the slow path. */
static __noinline int next_hop_from_fib(CONTEXT *ctx, u32 number, u32 address,
					struct next_hop *hop)
{
	struct bpf_fib_lookup fib = {};
	struct port *port = bpf_map_lookup_elem(&ports, &number);

	if (!port || !port->in_use)
		return 0;
	fib.family = AF_INET;
	fib.ipv4_dst = address;
	fib.ipv4_src = port->address;
	return next_hop_of_fib(ctx, &fib, port, number, hop);
}

static __noinline int next_hop_from_fib6(CONTEXT *ctx, u32 number, const u128 *address,
					 struct next_hop *hop)
{
	struct bpf_fib_lookup fib = {};
	struct port *port = bpf_map_lookup_elem(&ports, &number);

	if (!port || !port->in_use)
		return 0;
	fib.family = AF_INET6;
	__builtin_memcpy(fib.ipv6_dst, address, 16);
	__builtin_memcpy(fib.ipv6_src, &port->address6, 16);
	return next_hop_of_fib(ctx, &fib, port, number, hop);
}

/* Where it stands in the neighbour table, or in `room` by the FIB; 0 if neither knows it. */
static __always_inline struct next_hop *next_hop_of(CONTEXT *ctx, u32 port, u32 address, struct next_hop *room)
{
	struct neighbour_key key = { .port = port, .address = address };
	struct next_hop *known = bpf_map_lookup_elem(&neighbours, &key);

	if (known)
		return known;
	return next_hop_from_fib(ctx, port, address, room) ? room : 0;
}

static __always_inline struct next_hop *next_hop_of6(CONTEXT *ctx, u32 port, u128 address,
				     struct next_hop *room)
{
	struct neighbour_key6 key = { .port = port, .address = address };
	struct next_hop *known = bpf_map_lookup_elem(&neighbours6, &key);

	if (known)
		return known;
	return next_hop_from_fib6(ctx, port, &key.address, room) ? room : 0;
}

/* A copy of what a record holds, or where that is not resolved of what `next_hop_of` says; 0 if it is
 * not known. */
static __always_inline struct next_hop *kept_next_hop(CONTEXT *ctx, const struct next_hop *kept,
						      u32 port, u32 address, struct next_hop *room,
						      struct next_hop *own)
{
	*own = *kept;
	if (!own->resolved) {
		struct next_hop *found = next_hop_of(ctx, port, address, room);

		if (!found)
			return 0;
		*own = *found;
	}
	return own;
}

static __always_inline struct next_hop *kept_next_hop6(CONTEXT *ctx, const struct next_hop *kept,
						       u32 port, u128 address, struct next_hop *room,
						       struct next_hop *own)
{
	*own = *kept;
	if (!own->resolved) {
		struct next_hop *found = next_hop_of6(ctx, port, address, room);

		if (!found)
			return 0;
		*own = *found;
	}
	return own;
}

/* The MAC addresses of a frame to the next hop, by whole words: clang knows no alignment here. */
static __always_inline void put_macs(void *frame, const struct next_hop *hop)
{
	store64(frame, 0, load64(hop->mac, 0));
	store32(frame, 8, load32(hop->mac, 8));
}

#ifdef HELIO_TC
#include "tc.bpf.h"
#define COVERED(ctx, ip, quoted, field) cover_partial(ctx, ip, quoted, field)
#else
#define COVERED(ctx, ip, quoted, field) 1
/* Let the frame begin `by` bytes later, where there is room for the tag of the egress port too: what
 * is about to be written must not fail half-way. 0: no headroom, nothing moved. */
static __always_inline int move_begin(CONTEXT *ctx, int by, u16 tag)
{
	if (!tag)
		return !bpf_xdp_adjust_head(ctx, by);
	return !bpf_xdp_adjust_head(ctx, by - 4) && !bpf_xdp_adjust_head(ctx, 4);
}

/* Insert an 802.1Q tag behind the MAC addresses of a frame that begins with them. 0: no headroom. */
static __noinline int insert_vlan(CONTEXT *ctx, u16 tag)
{
	void *data, *end;
	u64 first;
	u32 last;

	if (bpf_xdp_adjust_head(ctx, -4))
		return 0;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + 18 > end)
		return 0;
	first = load64(data, 4);
	last = load32(data, 12);
	store64(data, 0, first);
	store32(data, 8, last);
	store16(data, 12, bpf_htons(0x8100));
	store16(data, 14, bpf_htons(tag));
	return 1;
}

/* The checksum of the TCP header at byte `tcp` of the frame, and there in memory, follows a word. */
static __always_inline void follow_tcp(CONTEXT *ctx, u32 tcp, void *header, u16 old, u16 new)
{
	store16(header, 16, checksum_update(load16(header, 16), old, new));
}
#endif

#endif /* HELIO_CARD */
/* ---- IPv4 (RFC 791) -------------------------------------------------------------------------- */

/* TTL - 1, the checksum kept: what equation 3 of RFC 1624 comes to for a word that falls by 0x0100. */
static __always_inline void decrement_ttl(void *ip)
{
	u32 checksum = load16(ip, 10) + bpf_htons(0x0100);

	store8(ip, 8, load8(ip, 8) - 1);
	store16(ip, 10, checksum + (checksum >= 0xffff));
}

/* ECN becomes another, the checksum kept. */
static __always_inline void set_ecn(void *ip, u8 ecn)
{
	u16 old = load16(ip, 0), new = (old & ~bpf_htons(0x0003)) | bpf_htons(ecn);

	store16(ip, 0, new);
	store16(ip, 10, checksum_update(load16(ip, 10), old, new));
}

/* ---- IPv6 (RFC 8200) ------------------------------------------------------------------------- */

static __always_inline void decrement_hop_limit(void *ip)
{
	store8(ip, 7, load8(ip, 7) - 1);
}

/* ECN, the low two bits of the traffic class, becomes another. */
static __always_inline void set_ecn6(void *ip, u8 ecn)
{
	store8(ip, 1, (load8(ip, 1) & 0xcf) | ecn << 4);
}

#ifndef HELIO_CARD
/* ---- ICMP errors (RFC 792, RFC 1122 section 3.2.2) ------------------------------------------- */

/* May the packet whose IPv4 header is `ip` be answered with an ICMP error? */
static __always_inline int may_answer(CONTEXT *ctx, void *ip)
{
	void *frame = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *icmp;
	u32 from = load32(ip, 12), to = load32(ip, 16), size = (load8(ip, 0) & 15) * 4;
	u8 network = load8(ip, 12);

	if (frame + 14 > end || load8(frame, 0) & 1) /* a link-layer broadcast or multicast */
		return 0;
	/* what is no single host: this network, loopback, classes D and E, a broadcast; or the host itself */
	if (!network || network == 127 || network >= 224 || is_local(from) || is_multicast(to) ||
	    is_broadcast(to) || load16(ip, 6) & bpf_htons(0x1fff))
		return 0;
	icmp = ip + size;
	if (load8(ip, 9) != 1 || bpf_ntohs(load16(ip, 2)) <= size || icmp + 1 > end)
		return 1;
	switch (load8(icmp, 0)) {
	case 3:
	case 4:
	case 5:
	case 11:
	case 12:
		return 0;
	}
	return 1;
}

/* Bytes of a packet that an error about it quotes: its header and 8 more. */
static __always_inline u32 quote(void *ip)
{
	u32 header = (load8(ip, 0) & 15) * 4, extent = bpf_ntohs(load16(ip, 2));

	return extent < header + 8 ? extent : header + 8;
}

/* The IPv4 address of the port that the packet came in by, network order; 0 if there is none. */
static __always_inline u32 arrival_address(CONTEXT *ctx)
{
	u32 number = arrival_port(ctx);
	struct port *port = bpf_map_lookup_elem(&ports, &number);

	return port ? port->address : 0;
}

static __always_inline void swap_macs(void *frame)
{
	u32 a = load32(frame, 0), b = load32(frame, 6);
	u16 c = load16(frame, 4), d = load16(frame, 10);

	store32(frame, 0, b);
	store16(frame, 4, d);
	store32(frame, 6, a);
	store16(frame, 10, c);
}

/* Write IPv4 and ICMP, from the address of the port that the packet came in by, at byte `at` of the frame,
 * which ends with the quoted bytes. `place`: `at` in the lower half, how many are quoted in the upper;
 * `about`: type and code, and above them the MTU. A function of its own, so that what it keeps on the stack
 * does not stand beside what its callers keep: to Linux 6.1 each call of a chain counts 32 bytes or a
 * multiple of them, and 512 is all there is. */
__noinline int put_icmp_at(CONTEXT *ctx, u32 place, u32 to, u32 about)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u32 from = arrival_address(ctx), quoted = place >> 16, mtu = about >> 16, type_code = (u16)about;
	void *ip = packet_at(data, (u16)place), *p;
	u64 sum;

	if (ip + 28 > end)
		return 0;
	store16(ip, 0, bpf_htons(0x45c0));
	store16(ip, 2, bpf_htons(28 + quoted));
	store32(ip, 4, bpf_htonl(0x00004000));
	store16(ip, 8, bpf_htons(0x4001));
	store32(ip, 12, from);
	store32(ip, 16, to);
	store16(ip, 10, fold((u64)load16(ip, 0) + load16(ip, 2) + load32(ip, 4) + load16(ip, 8) + from + to));
	store16(ip, 20, bpf_htons(type_code));
	store32(ip, 24, bpf_htonl(mtu));
	sum = bpf_htons(type_code) + (u64)bpf_htonl(mtu);
	p = ip + 28;
#pragma clang loop unroll(disable)
	for (int i = 0; i < 34; i++, p += 2) {
		if (p + 2 > end)
			break;
		sum += load16(p, 0);
	}
	if (p + 1 <= end)
		sum += load8(p, 0);
	store16(ip, 22, fold(sum));
	return 1;
}

static __always_inline int put_icmp(CONTEXT *ctx, u32 at, u32 to, u32 quoted, u32 type_code, u32 mtu)
{
	return put_icmp_at(ctx, at | quoted << 16, to, (u16)type_code | mtu << 16) && COVERED(ctx, at + 28, quoted, at + 22);
}

/* ---- ICMPv6 errors (RFC 4443) ---------------------------------------------------------------- */

#define ICMP6_TOO_BIG 2
#define ICMP6_REDIRECT 137
#define MIN_MTU6 1280

/* One step over an extension header (RFC 8200 section 4.1) at byte `at` of the frame, which `next`
 * announces: where the next one starts, and in the upper half what announces it; 0 at the end. */
__noinline u64 extension_step(CONTEXT *ctx, u32 at, u32 next)
{
	void *p = packet_at((void *)(long)ctx->data, at);
	u32 size;

	if (at > MAX_OFFSET - 8 || p + 8 > limit_of(ctx))
		return 0;
	if (next == 44) /* behind a later fragment's comes mid-payload */
		return load16(p, 2) & bpf_htons(0xfff8) ? 0 : (u64)load8(p, 0) << 32 | (at + 8);
	if (next == 51) /* RFC 4302 section 2.2 */
		size = (load8(p, 1) + 2) * 4;
	else if (next == 0 || next == 43 || next == 60)
		size = (load8(p, 1) + 1) * 8;
	else
		return 0;
	return (u64)load8(p, 0) << 32 | (at + size);
}

#define MOST_EXTENSIONS 8

/* Does the packet whose IPv6 header starts at byte `at` of the frame carry an ICMPv6 error or a
 * redirect within its extent? */
static __noinline int carries_icmp6_error(CONTEXT *ctx, u32 at)
{
	void *data = (void *)(long)ctx->data, *p = packet_at(data, at);
	u32 next, end;

	if (p + 40 > limit_of(ctx))
		return 0;
	next = load8(p, 6);
	end = at + 40 + bpf_ntohs(load16(p, 4));
	at += 40;
#pragma clang loop unroll(disable)
	for (int i = 0; i < MOST_EXTENSIONS && next != 58; i++) {
		u64 found = extension_step(ctx, at, next);

		if (!found)
			return 0;
		at = found;
		next = found >> 32;
	}
	p = packet_at((void *)(long)ctx->data, at);
	if (next != 58 || at >= end || p + 1 > limit_of(ctx))
		return 0;
	return load8(p, 0) < 128 || load8(p, 0) == ICMP6_REDIRECT;
}

/* May the packet whose IPv6 header is `ip`, at byte `at` of the frame, be answered with an ICMPv6
 * error? RFC 4443 section 2.4 (e). */
static __always_inline int may_answer6(CONTEXT *ctx, void *ip, u32 at, u32 type_code)
{
	void *frame = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	int grouped = type_code >> 8 == ICMP6_TOO_BIG; /* (e.3): so that path MTU discovery works there */

	if (frame + 14 > end || load8(frame, 0) & 1)
		return 0;
	if ((is_multicast6(load128(ip, 24)) && !grouped) || is_local6(load128(ip, 8)) ||
	    is_confined_address(ip + 8))
		return 0;
	return !carries_icmp6_error(ctx, at);
}

/* Bytes of a packet that an error about it quotes: as many as make an error of MIN_MTU6. */
static __always_inline u32 quote6(void *ip)
{
	u32 extent = 40 + bpf_ntohs(load16(ip, 4)), most = MIN_MTU6 - 48;

	return extent < most ? extent : most;
}

/* The IPv6 address of the port that the packet came in by, network order; 0 if there is none. */
static __always_inline u128 arrival_address6(CONTEXT *ctx)
{
	u32 number = arrival_port(ctx);
	struct port *port = bpf_map_lookup_elem(&ports, &number);

	return port ? port->address6 : 0;
}

/* Likewise IPv6 and ICMPv6. An MTU below
 * MIN_MTU6 would not be believed (RFC 8201 section 4). */
static __always_inline int put_icmp6(CONTEXT *ctx, u32 at, u128 to, u32 quoted, u32 type_code, u32 mtu)
{
	u128 from = arrival_address6(ctx);
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *ip = packet_at(data, at);

	if (ip + 48 > end)
		return 0;
	if (type_code >> 8 == ICMP6_TOO_BIG && mtu < MIN_MTU6)
		mtu = MIN_MTU6;
	store32(ip, 0, bpf_htonl(0x60000000));
	store16(ip, 4, bpf_htons(8 + quoted));
	store16(ip, 6, bpf_htons(58 << 8 | 64));
	store128(ip, 8, from);
	store128(ip, 24, to);
	store16(ip, 40, bpf_htons(type_code));
	store16(ip, 42, 0);
	store32(ip, 44, bpf_htonl(mtu));
	return seal(ctx, at | OF_IPV6 | 58 << 16, at + 40, 8 + quoted, at + 42) &&
	       COVERED(ctx, at + 48, quoted, at + 42);
}

/* ---- TCP MSS (RFC 9293 section 3.7.1) -------------------------------------------------------- */

#define TCP_SYN 0x02

/* One step of the walk over TCP options: the option at byte `at` of the TCP header at `tcp` of the
 * frame. Returns where the next one starts, 0 at the end; lowers the MSS option to `most`. A global
 * function, as every body of a loop with branches: the verifier walks it once, not once a round. */
__noinline u32 mss_step(CONTEXT *ctx, u32 tcp, u32 at, u32 most)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *p, *header;
	u16 old, new;
	u32 size;

	header = packet_at(data, tcp);
	if (header + 20 > end)
		return 0;
	size = (load8(header, 12) >> 4) * 4;
	p = header + (at & 63);
	if (at + 2 > size || p + 2 > end || load8(p, 0) == 0)
		return 0;
	if (load8(p, 0) == 1)
		return at + 1;
	if (load8(p, 1) < 2)
		return 0;
	if (load8(p, 0) != 2 || load8(p, 1) != 4)
		return at + load8(p, 1);
	if (at + 4 > size || p + 4 > end)
		return 0;
	old = (u16)load8(p, 2) << 8 | load8(p, 3);
	if (old <= most)
		return 0;
	store8(p, 2, most >> 8);
	store8(p, 3, (u8)most);
	/* at an odd offset the option's bytes straddle two words: they count swapped */
	old = at & 1 ? old : bpf_htons(old);
	new = at & 1 ? most : bpf_htons(most);
	follow_tcp(ctx, tcp, header, old, new);
	return 0;
}

/* Lower the MSS option of a SYN whose TCP header starts at `tcp` of the frame to `most`. */
static __noinline int clamp_mss(CONTEXT *ctx, u32 tcp, u32 most)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *header = packet_at(data, tcp);
	u32 at = 20;

	if (header + 20 > end || !(load8(header, 13) & TCP_SYN))
		return 0;
#pragma clang loop unroll(disable)
	for (int i = 0; i < 40 && at; i++)
		at = mss_step(ctx, tcp, at, most);
	return 0;
}

#endif /* HELIO_CARD */
#endif
