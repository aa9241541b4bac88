/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What references have in common: plain tables of one rule at a time, whose change packets may see half.
 *
 * A table is a global in a section of its own, which user space finds as a map of that name. Its size
 * is a power of two and its index masked, so that there is no bound to check and no address to look up. A
 * rule's counters lie in a flat array by CPU, by the place of the rule's entry: fetched beside it.
 */
#ifndef BY_HAND_H
#define BY_HAND_H

#include "helio.bpf.h"

#define TABLE(type, name, entries) type name[entries] SEC(".bss." #name) __attribute__((aligned(64)))
#define MOST_PROBED 128 /* keys that are half as many as places need fewer */
#define NOWHERE 0xffffffff
#define WAYS 4096
#define LOCAL_LOG 16

/* The first three: what a reference leaves out, by its shape, or as an ICMP error would answer it. */
enum event { LEFT_OUT = 1, TTL, TOO_BIG, MISSED, DROPPED, MALFORMED, CONFINED, LOCAL, ECN, NO_ROOM, RESERVED, EVENTS = 16 };

/* Where to and how: what rules share that differ in other things. */
struct way {
	struct next_hop hop;
	u64 addresses; /* of an outer IPv4 header */
	u32 sum; /* of that header's words which are the same for all packets */
	u32 action;
} __attribute__((aligned(64)));

TABLE(struct way, ways, WAYS);
TABLE(u64, local_bits, 1 << (LOCAL_LOG - 6)); /* a bit for the hash of each of the host's addresses */
TABLE(u64, events, CPUS * EVENTS);

/* What becomes of a packet that no rule's counter says. */
static __always_inline int done(enum event event, int action)
{
	events[(bpf_get_smp_processor_id() & (CPUS - 1)) * EVENTS + event] += 1;
	return action;
}

/* `counts` of each CPU has `entries`. */
static __always_inline void count(struct counts *counts, u32 entries, u32 at, u64 length)
{
	struct counts *mine = &counts[(bpf_get_smp_processor_id() & (CPUS - 1)) * entries + at];

	mine->packets += 1;
	mine->bytes += length;
}

/* A broadcast, or an address of the host's: few others share their bits. */
static __always_inline int is_of_host(u32 address)
{
	u32 hash = address * 0x9e3779b1U >> (32 - LOCAL_LOG);

	if (unlikely(local_bits[hash >> 6] >> (hash & 63) & 1))
		return is_not_null(bpf_map_lookup_elem(&local, &address));
	return is_broadcast(address);
}

/* Whether what is behind an IPv4 header of 20 bytes is cut: `extent` is what it says of the packet. */
static __always_inline int cut_ports(void *ip, void *end, u32 extent)
{
	u8 protocol = load8(ip, 9);

	if (protocol == 17)
		return extent < 28;
	if (protocol != 6)
		return 0;
	return extent < 40 || ip + 40 > end || load8(ip, 32) >> 4 < 5 || 20 + (load8(ip, 32) >> 4) * 4 > extent;
}

/* The body of a function: the place at which a rule `is_it`, from `from` on, or NOWHERE. No place that is not
 * `taken` is gone by, as rules are put into the first one; what is taken away is filled by those behind it. */
#define PROBE(from, places, most, taken, is_it)                                                     \
	u32 at = from;                                                                              \
                                                                                                    \
	_Pragma("clang loop unroll(disable)")                                                       \
	for (u32 i = 0; i < most; i++, at++) {                                                      \
		at &= (places)-1;                                                                   \
		if (!(taken))                                                                       \
			break;                                                                      \
		if (is_it)                                                                          \
			return at;                                                                  \
	}                                                                                           \
	return NOWHERE

/* RFC 6040 section 4.2: `met` has the outer header's ECN in its lower bits. 0: congestion that the inner packet
 * cannot tell of. */
static __always_inline int join_ecn(u8 met, void *ip)
{
	u8 own = load8(ip, 1) & 3;

	met &= 3;
	if (!(met & 1))
		return 1;
	if (met == 3 && !own)
		return 0;
	if (met == 3 || own == 2)
		set_ecn(ip, met);
	return 1;
}

/* Ethernet, and IPv4 of `extent` bytes that says `protocol`. */
static __always_inline void put_ipv4(void *p, const struct way *way, u32 tos, u32 extent, u32 protocol)
{
	u32 sum = way->sum + bpf_htons(tos) + bpf_htons(extent);

	put_macs(p, &way->hop);
	store_be32(p, 12, 0x08004500 | tos);
	store_be32(p, 16, extent << 16);
	store_be32(p, 20, 0x40004000 | protocol);
	sum = (sum & 0xffff) + (sum >> 16);
	store16(p, 24, ~(sum + (sum >> 16)));
	store64(p, 26, way->addresses);
}

/* To the port behind which the next hop is. */
static __always_inline int leave(struct xdp_md *ctx, const struct next_hop *hop)
{
	if (unlikely(hop->vlan) && !insert_vlan(ctx, hop->vlan))
		return done(NO_ROOM, XDP_DROP);
	return bpf_redirect_map(&egress, hop->port, 0);
}

#endif
