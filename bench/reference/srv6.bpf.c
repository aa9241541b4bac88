/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What pipelines/srv6_edge.hp does with IPv4, as an expert writes it by hand: H.Encaps.Red with one SID, and
 * End.DT4. A slice is a port's; a route has a whole address, and is counted for its policy or next hop, too.
 *
 * Left out, since no packet here meets it: what is not of the usual shape (VLANs, IP options, fragments, IPv6
 * of users, other headers than an SRH in front of what is carried), other behaviours, and ICMP errors.
 */
#include "by_hand.h"

#define ROUTES (1 << LOG)
#define NUMBERS_LOG 12 /* of policies and SIDs */
#define NUMBERS (1 << NUMBERS_LOG)
#define PUSHED 40
#define END_DT4 19
#define MOST_SEGMENTS 8

struct route {
	u64 key; /* table, destination as in the packet */
	u32 policy;
	u32 way; /* 0: to the policy, or if that is 0 no route */
};

struct policy {
	struct next_hop hop;
	u64 reserved;
	u128 source;
	u128 sid;
};

struct sid {
	u64 address[2];
	u32 table;
	u32 behaviour; /* 0: no SID */
	u64 reserved;
};

struct slice {
	u32 ifindex;
	u32 table;
};

TABLE(struct route, routes, ROUTES);
TABLE(struct counts, route_counts, CPUS * ROUTES);
TABLE(struct policy, policies, NUMBERS);
TABLE(struct sid, sids, NUMBERS);
TABLE(struct counts, sid_counts, CPUS * NUMBERS);
TABLE(struct slice, slices, 256); /* by the lower bits of the interface's index */
TABLE(struct counts, slice_counts, CPUS * 256);

static __always_inline u32 route_at(u32 table, u32 dst)
{
	u64 key = table | (u64)dst << 32;

	PROBE(hash_of((u64[]){ key }, 1) >> (64 - LOG), ROUTES, MOST_PROBED, routes[at].policy || routes[at].way,
	      routes[at].key == key);
}

static __always_inline u32 sid_at(u64 high, u64 low)
{
	PROBE(hash_of((u64[]){ high, low }, 2) >> (64 - NUMBERS_LOG), NUMBERS, MOST_PROBED, sids[at].behaviour,
	      sids[at].address[0] == high && sids[at].address[1] == low);
}

SEC("xdp")
int srv6_access(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip = data + 14;
	u32 at, extent, words[4], ports, ifindex, ecn;
	u64 length = frame_length(ctx);
	struct policy *policy;
	struct slice *slice;
	int opens = 0;
	u8 protocol;

	if (unlikely(ip + 28 > end || (load32(data, 12) & bpf_htonl(0xffffff00)) != bpf_htonl(0x08004500) ||
		     load16(ip, 6) & bpf_htons(0x3fff)))
		return done(LEFT_OUT, XDP_PASS);
	extent = load_be16(ip, 2);
	if (unlikely(extent < 20 || extent + 14 > length || cut_ports(ip, end, extent)))
		return done(MALFORMED, XDP_DROP);
	if (unlikely(is_multicast(load32(ip, 16)) || is_of_host(load32(ip, 16))))
		return done(LOCAL, XDP_PASS);
	ifindex = ctx->ingress_ifindex;
	slice = &slices[ifindex & 255];
	if (slice->ifindex != ifindex)
		return done(MISSED, XDP_PASS);
	count(slice_counts, 256, ifindex & 255, length);
	at = route_at(slice->table, load32(ip, 16));
	if (at == NOWHERE)
		return done(MISSED, XDP_PASS);
	if (unlikely(routes[at].way))
		return done(LEFT_OUT, XDP_PASS);
	count(route_counts, ROUTES, at, length);
	policy = &policies[routes[at].policy & (NUMBERS - 1)];
	if (unlikely(load8(data, 0) & 1 || is_confined(ip)))
		return done(CONFINED, XDP_PASS);
	if (unlikely(load8(ip, 8) <= 1))
		return done(TTL, XDP_DROP);
	if (unlikely(extent + PUSHED > policy->hop.mtu))
		return done(TOO_BIG, XDP_DROP);
	protocol = load8(ip, 9);
	ports = protocol == 17 || protocol == 6 ? load32(ip, 20) : 0;
	if (protocol == 6 && ip + 40 <= end)
		opens = load8(ip, 33) & TCP_SYN;
	words[0] = load32(ip, 12);
	words[1] = load32(ip, 16);
	words[2] = protocol | ports << 8;
	words[3] = ports >> 24;
	ecn = load8(ip, 1) & 3;
	if (unlikely(!move_begin(ctx, -PUSHED, policy->hop.vlan)))
		return done(NO_ROOM, XDP_DROP);
	data = (void *)(long)ctx->data;
	if (unlikely(data + 74 > (void *)(long)ctx->data_end))
		return done(MALFORMED, XDP_DROP);
	put_macs(data, &policy->hop);
	store_be16(data, 12, 0x86dd);
	store_be32(data, 14, 0x60000000 | ecn << 20 | (jhash_words(words, 4) & 0xfffff));
	store_be32(data, 18, extent << 16 | 4 << 8 | 64);
	store128(data, 22, policy->source);
	store128(data, 38, policy->sid);
	decrement_ttl(data + 54);
	if (unlikely(opens))
		clamp_mss(ctx, 74, policy->hop.mtu - PUSHED - 40);
	return leave(ctx, &policy->hop);
}

/* Of an SRH that starts with these bytes: how long it is; 0: it is malformed. */
static __always_inline u32 srh_size(void *srh, u32 left)
{
	u32 size = load8(srh, 1) * 8 + 8, segments = load8(srh, 4) + 1;

	return 8 + segments * 16 <= size && size <= left && load8(srh, 3) <= segments ? size : 0;
}

SEC("xdp")
int srv6_core(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip;
	u32 at, extent, limit, size = 0, left = 0;
	u64 length = frame_length(ctx);
	struct way *way;

	if (unlikely(data + 74 > end || load16(data, 12) != bpf_htons(0x86dd) || load8(data, 14) >> 4 != 6))
		return done(LEFT_OUT, XDP_PASS);
	limit = load_be16(data, 18);
	if (unlikely(limit + 54 > length))
		return done(MALFORMED, XDP_DROP);
	if (load8(data, 20) == 43) {
		if (unlikely(load8(data, 56) != 4 || load8(data, 58) >= MOST_SEGMENTS || load8(data, 54) != 4))
			return done(LEFT_OUT, XDP_PASS);
		size = srh_size(data + 54, limit);
		left = load8(data, 57);
		if (unlikely(!size))
			return done(MALFORMED, XDP_DROP);
	} else if (unlikely(load8(data, 20) != 4)) {
		return done(LEFT_OUT, XDP_PASS);
	}
	limit -= size;
	ip = packet_at(data + 54, size);
	if (unlikely(ip + 20 > end))
		return done(MALFORMED, XDP_DROP);
	if (unlikely(load8(ip, 0) != 0x45 || load16(ip, 6) & bpf_htons(0x3fff)))
		return done(LEFT_OUT, XDP_PASS);
	extent = load_be16(ip, 2);
	if (unlikely(extent < 20 || extent > limit || cut_ports(ip, end, extent)))
		return done(MALFORMED, XDP_DROP);
	at = sid_at(load64(data, 38), load64(data, 46));
	if (at == NOWHERE)
		return done(MISSED, XDP_PASS);
	count(sid_counts, NUMBERS, at, length);
	if (unlikely(sids[at].behaviour != END_DT4))
		return done(LEFT_OUT, XDP_PASS);
	if (unlikely(left || is_multicast(load32(ip, 16)) || is_of_host(load32(ip, 16))))
		return done(LOCAL, XDP_DROP);
	if (unlikely(!join_ecn(load8(data, 15) >> 4, ip)))
		return done(ECN, XDP_DROP);
	at = route_at(sids[at].table, load32(ip, 16));
	if (at == NOWHERE)
		return done(MISSED, XDP_DROP);
	if (unlikely(!routes[at].way))
		return done(LEFT_OUT, XDP_DROP);
	count(route_counts, ROUTES, at, length);
	way = &ways[routes[at].way & (WAYS - 1)];
	if (unlikely(load8(data, 0) & 1 || is_confined(ip)))
		return done(CONFINED, XDP_DROP);
	if (unlikely(load8(ip, 8) <= 1))
		return done(TTL, XDP_DROP);
	if (unlikely(extent > way->hop.mtu))
		return done(TOO_BIG, XDP_DROP);
	if (unlikely(!move_begin(ctx, 40 + size, way->hop.vlan)))
		return done(NO_ROOM, XDP_DROP);
	data = (void *)(long)ctx->data;
	if (unlikely(data + 34 > (void *)(long)ctx->data_end))
		return done(MALFORMED, XDP_DROP);
	put_macs(data, &way->hop);
	store_be16(data, 12, 0x800);
	decrement_ttl(data + 14);
	return leave(ctx, &way->hop);
}

char _license[] SEC("license") = "GPL";
