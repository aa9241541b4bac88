/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What exact.hp does, as an expert writes it by hand: for one rule at a time, whose change packets may see
 * half. Counters lie in a flat array by CPU. With FLAT keys lie in an array of entries by their hash, each
 * of which says whether keys went past it; else in the kernel's hash.
 */
#include "helio.bpf.h"

struct route {
	u32 key;
	u32 there;
	u32 past;
	u32 number; /* of its counters */
	u32 queue; /* as in the packet */
	u32 has_queue;
	u64 reserved;
};

#ifdef FLAT
ARRAY_MAP(routes, struct route, 1 << LOG, BPF_F_MMAPABLE);
#else
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ROUTES);
	__type(key, u32);
	__type(value, struct route);
} routes SEC(".maps");
#endif
ARRAY_MAP(route_counts, struct counts, 2 * ROUTES, BPF_F_MMAPABLE);

static __always_inline struct route *find(u32 dst)
{
#ifdef FLAT
	u64 sum = dst * HASH_FACTOR, hash = (sum ^ sum >> 32) * HASH_FACTOR;
	u32 first = hash >> (64 - LOG);

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 64; i++) {
		u32 at = first ^ i;
		struct route *route = bpf_map_lookup_elem(&routes, &at);

		if (!route)
			return 0;
		if (route->key == dst && route->there)
			return route;
		if (!route->past)
			return 0;
	}
	return 0;
#else
	return bpf_map_lookup_elem(&routes, &dst);
#endif
}

SEC("xdp")
int exact_lan(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip = data + 14;
	struct route *route;
	struct counts *counts;
	u32 at;

	if (ip + 20 > end)
		return XDP_DROP;
	if (load_be16(data, 12) != 0x800)
		return XDP_PASS;
	if (load8(ip, 0) >> 4 != 4 || (load8(ip, 0) & 15) < 5 || ip + (load8(ip, 0) & 15) * 4 > end)
		return XDP_DROP;
	route = find(load32(ip, 16));
	if (!route)
		return XDP_DROP;
	at = bpf_get_smp_processor_id() * ROUTES + route->number;
	counts = bpf_map_lookup_elem(&route_counts, &at);
	if (counts) {
		counts->packets += 1;
		counts->bytes += end - data;
	}
	if (route->has_queue && bpf_ntohl(route->queue) == 7)
		return XDP_DROP;
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
