/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What prefixes.hp does, as an expert writes it by hand: DIR-24-8 (Gupta, Lin, McKeown 1998). A leaf has the
 * rule's number, by which it is counted, and that of what it gives, which many rules have in common; or it
 * leads to the 256 leaves of the addresses that begin with these 24 bits.
 */
#include "by_hand.h"

#define NUMBERS (1 << LOG)
#define GIVEN 1024
#define FURTHER 0x80000000 /* the rest is the number of 256 leaves */

struct given {
	u32 queue; /* as in the packet */
	u32 has_queue;
};

TABLE(u32, leaves, 1 << 24); /* 0: no prefix */
TABLE(u32, further, BLOCKS * 256);
TABLE(struct given, given, GIVEN);
TABLE(struct counts, route_counts, CPUS * NUMBERS);

static __always_inline u32 leaf_of(u32 dst)
{
	u32 leaf = leaves[dst >> 8];

	if (leaf & FURTHER)
		leaf = further[(leaf & (BLOCKS - 1)) << 8 | (u8)dst];
	return leaf;
}

SEC("xdp")
int prefixes_lan(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip = data + 14;
	u64 length = frame_length(ctx);
	struct given *gives;
	u32 leaf, size;

	if (unlikely(data + 14 > end))
		return done(MALFORMED, XDP_DROP);
	if (unlikely(load16(data, 12) != bpf_htons(0x800)))
		return XDP_PASS;
	if (unlikely(ip + 20 > end))
		return done(MALFORMED, XDP_DROP);
	size = (load8(ip, 0) & 15) * 4;
	if (unlikely(load8(ip, 0) >> 4 != 4))
		return XDP_PASS;
	if (unlikely(size < 20 || load_be16(ip, 2) < size || load_be16(ip, 2) + 14 > length))
		return done(MALFORMED, XDP_DROP);
	leaf = leaf_of(load_be32(ip, 16));
	if (!leaf)
		return done(MISSED, XDP_DROP);
	count(route_counts, NUMBERS, leaf & (NUMBERS - 1), length);
	gives = &given[leaf >> LOG & (GIVEN - 1)];
	if (gives->has_queue && bpf_ntohl(gives->queue) == 7)
		return done(DROPPED, XDP_DROP);
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
