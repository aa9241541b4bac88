/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What exact.hp does, as an expert writes it by hand: with FLAT in an open table, else in the kernel's hash,
 * where an entry has its counters' number.
 */
#include "by_hand.h"

#define PLACES (1 << LOG)

struct route {
	u32 dst;
	u32 number;
	u32 queue; /* as in the packet */
	u8 taken;
	u8 has_queue;
	u8 reserved[2];
};

#ifdef FLAT
TABLE(struct route, routes, PLACES);

static __always_inline u32 route_at(u32 dst)
{
	PROBE(hash_of((u64[]){ dst }, 1) >> (64 - LOG), PLACES, MOST_PROBED, routes[at].taken, routes[at].dst == dst);
}
#else
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PLACES);
	__type(key, u32);
	__type(value, struct route);
} routes SEC(".maps");
#endif
TABLE(struct counts, route_counts, CPUS * PLACES);

SEC("xdp")
int exact_lan(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip = data + 14;
	u64 length = frame_length(ctx);
	struct route *route;
	u32 at, dst, size;

	if (unlikely(data + 14 > end))
		return XDP_DROP;
	if (unlikely(load16(data, 12) != bpf_htons(0x800)))
		return XDP_PASS;
	if (unlikely(ip + 20 > end))
		return XDP_DROP;
	size = (load8(ip, 0) & 15) * 4;
	if (unlikely(load8(ip, 0) >> 4 != 4))
		return XDP_PASS;
	if (unlikely(size < 20 || load_be16(ip, 2) < size || load_be16(ip, 2) + 14 > length))
		return XDP_DROP;
	dst = load32(ip, 16);
#ifdef FLAT
	at = route_at(dst);
	if (at == NOWHERE)
		return XDP_DROP;
	route = &routes[at];
#else
	route = bpf_map_lookup_elem(&routes, &dst);
	if (!route)
		return XDP_DROP;
	at = route->number & (PLACES - 1);
#endif
	count(route_counts, PLACES, at, length);
	if (route->has_queue && bpf_ntohl(route->queue) == 7)
		return XDP_DROP;
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
