/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What gre.hp does, as an expert writes it by hand. Left out, since no packet here meets it: IP options, VLANs,
 * and GRE with other fields than a key.
 */
#include "by_hand.h"

#define PLACES (1 << LOG)
#define PUSHED 28 /* IPv4, GRE, key */

struct site {
	u32 dst;
	u32 way; /* 0: no site */
	u32 key;
	u32 reserved;
};

struct tunnel {
	u64 addresses; /* as in the packet, source first */
	u32 key;
	u32 way; /* 0: no tunnel */
};

TABLE(struct site, sites, PLACES);
TABLE(struct tunnel, tunnels, PLACES);
TABLE(struct counts, site_counts, CPUS * PLACES);
TABLE(struct counts, tunnel_counts, CPUS * PLACES);

static __always_inline u32 site_at(u32 dst)
{
	PROBE(hash_of((u64[]){ dst }, 1) >> (64 - LOG), PLACES, MOST_PROBED, sites[at].way, sites[at].dst == dst);
}

static __always_inline u32 tunnel_at(u64 addresses, u32 key)
{
	PROBE(hash_of((u64[]){ addresses, key }, 2) >> (64 - LOG), PLACES, MOST_PROBED, tunnels[at].way,
	      tunnels[at].addresses == addresses && tunnels[at].key == key);
}

SEC("xdp")
int gre_lan(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip = data + 14;
	u64 length = frame_length(ctx);
	u32 at, extent, tos;
	struct way *way;

	if (unlikely(ip + 20 > end || (load32(data, 12) & bpf_htonl(0xffffff00)) != bpf_htonl(0x08004500)))
		return done(LEFT_OUT, XDP_PASS);
	extent = load_be16(ip, 2);
	if (unlikely(extent < 20 || extent + 14 > length))
		return done(MALFORMED, XDP_DROP);
	if (unlikely(is_multicast(load32(ip, 16)) || is_of_host(load32(ip, 16))))
		return done(LOCAL, XDP_PASS);
	at = site_at(load32(ip, 16));
	if (at == NOWHERE)
		return done(MISSED, XDP_PASS);
	count(site_counts, PLACES, at, length);
	way = &ways[sites[at].way & (WAYS - 1)];
	if (unlikely(load8(data, 0) & 1 || is_confined(ip)))
		return done(CONFINED, XDP_PASS);
	if (unlikely(load8(ip, 8) <= 1))
		return done(TTL, XDP_DROP);
	if (unlikely(extent + PUSHED > way->hop.mtu))
		return done(TOO_BIG, XDP_DROP);
	tos = load8(ip, 1);
	if (unlikely(!move_begin(ctx, -PUSHED, way->hop.vlan)))
		return done(NO_ROOM, XDP_DROP);
	data = (void *)(long)ctx->data;
	if (unlikely(data + 62 > (void *)(long)ctx->data_end))
		return done(MALFORMED, XDP_DROP);
	put_ipv4(data, way, tos, extent + PUSHED, 47);
	store_be32(data, 34, 0x20000800);
	store32(data, 38, sites[at].key);
	decrement_ttl(data + 42);
	return leave(ctx, &way->hop);
}

SEC("xdp")
int gre_wan(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip = data + 42;
	u64 length = frame_length(ctx);
	u32 at, total, extent;
	struct way *way;

	/* IPv4 without options, no fragment, GRE with a key, IPv4 without options */
	if (unlikely(ip + 20 > end || (load32(data, 12) & bpf_htonl(0xffffff00)) != bpf_htonl(0x08004500) ||
		     (load32(data, 20) & bpf_htonl(0x3fff00ff)) != bpf_htonl(47) ||
		     load32(data, 34) != bpf_htonl(0x20000800) || load8(ip, 0) != 0x45))
		return done(LEFT_OUT, XDP_PASS);
	total = load_be16(data, 16);
	extent = load_be16(ip, 2);
	if (unlikely(extent < 20 || extent + PUSHED > total || total + 14 > length))
		return done(MALFORMED, XDP_DROP);
	if (unlikely(is_multicast(load32(ip, 16)) || is_of_host(load32(ip, 16))))
		return done(LOCAL, XDP_PASS);
	at = tunnel_at(load64(data, 26), load32(data, 38));
	if (at == NOWHERE)
		return done(MISSED, XDP_PASS);
	count(tunnel_counts, PLACES, at, length);
	if (unlikely(!join_ecn(load8(data, 15), ip)))
		return done(ECN, XDP_DROP);
	way = &ways[tunnels[at].way & (WAYS - 1)];
	if (unlikely(load8(data, 0) & 1 || is_confined(ip)))
		return done(CONFINED, XDP_DROP);
	if (unlikely(load8(ip, 8) <= 1))
		return done(TTL, XDP_DROP);
	if (unlikely(extent > way->hop.mtu))
		return done(TOO_BIG, XDP_DROP);
	if (unlikely(!move_begin(ctx, PUSHED, way->hop.vlan)))
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
