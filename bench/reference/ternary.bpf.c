/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What ternary.hp does, as an expert writes it by hand: bit vectors. For each byte of the key and each of its
 * values a vector says which rules take it, the best in the lowest bit: what all bytes have in common is what
 * matches. So masks cost nothing. A rule lies where a product with de Bruijn's number leads that has its bit.
 */
#include "by_hand.h"

#define BYTES 13 /* source, destination, ports, protocol */
#define WORDS 2 /* of 64 rules */
#define DE_BRUIJN 0x022fdd63cc95386dULL

struct flow {
	u32 queue; /* as in the packet */
	u32 has_queue;
};

TABLE(u64, vectors, WORDS * BYTES * 256);
TABLE(struct flow, flows, WORDS * 64);
TABLE(struct counts, flow_counts, CPUS * WORDS * 64);

#define TAKE(i, byte) vectors[((word * BYTES + (i)) << 8) + (u8)(byte)]
#define TAKE2(i, two) (TAKE(i, two) & TAKE((i) + 1, (two) >> 8))
#define TAKE4(i, four) (TAKE2(i, four) & TAKE2((i) + 2, (four) >> 16))

/* The place of the best rule, or NOWHERE. */
static __always_inline u32 flow_at(u32 src, u32 dst, u32 ports, u8 protocol)
{
#pragma clang loop unroll(full)
	for (u32 word = 0; word < WORDS; word++) {
		u64 found = TAKE4(0, src) & TAKE4(4, dst) & TAKE4(8, ports) & TAKE(12, protocol);

		if (found)
			return word * 64 + ((found & -found) * DE_BRUIJN >> 58);
	}
	return NOWHERE;
}

SEC("xdp")
int ternary_lan(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip = data + 14;
	u64 length = frame_length(ctx);
	u32 at, extent, ports = 0;
	u8 protocol;

	if (unlikely(ip + 28 > end || (load32(data, 12) & bpf_htonl(0xffffff00)) != bpf_htonl(0x08004500) ||
		     load16(ip, 6) & bpf_htons(0x3fff)))
		return done(LEFT_OUT, XDP_PASS);
	extent = load_be16(ip, 2);
	if (unlikely(extent < 20 || extent + 14 > length || cut_ports(ip, end, extent)))
		return done(MALFORMED, XDP_DROP);
	protocol = load8(ip, 9);
	if (protocol == 17 || protocol == 6)
		ports = load32(ip, 20);
	at = flow_at(load32(ip, 12), load32(ip, 16), ports, protocol);
	if (at == NOWHERE)
		return done(MISSED, XDP_DROP);
	count(flow_counts, WORDS * 64, at, length);
	if (flows[at].has_queue && bpf_ntohl(flows[at].queue) == 7)
		return done(DROPPED, XDP_DROP);
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
