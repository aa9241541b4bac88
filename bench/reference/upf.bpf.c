/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What pipelines/upf.hp does with sessions of IPv4, as an expert writes it by hand. A session is 16 bytes: its
 * key, what its FAR alone has, and the number of a way out, which all sessions to one peer share. PDR and FAR
 * count the same packets, so a session is counted once. With DENSE a session lies where its TEID, or the UE's
 * address, says, as the controller allots these in turn; the key is compared there, too.
 *
 * Left out, since no packet here meets it: what is not of the usual shape (VLAN, IP options, fragments, IPv6,
 * other extension headers than one container, messages that are not G-PDUs) is passed, and no ICMP error is sent.
 */
#include "by_hand.h"

#define SESSIONS (1 << LOG)
#define PUSHED 44 /* IPv4, UDP, GTP-U with its optional four bytes, container */

enum { CORE = 2, TUNNEL = 3 };

struct uplink {
	u64 tunnel; /* TEID, our address */
	u32 ue;
	u32 way; /* 0: no session */
};

struct downlink {
	u32 ue;
	u32 way;
	u32 teid;
	u32 container;
};

TABLE(struct uplink, uplinks, SESSIONS);
TABLE(struct downlink, downlinks, SESSIONS);
TABLE(struct counts, uplink_counts, CPUS * SESSIONS);
TABLE(struct counts, downlink_counts, CPUS * SESSIONS);

#ifdef DENSE
#define PROBED 1
#define UPLINK_FROM(tunnel, ue) bpf_ntohl((u32)(tunnel))
#define DOWNLINK_FROM(ue) bpf_ntohl(ue)
#else
#define PROBED MOST_PROBED
#define UPLINK_FROM(tunnel, ue) (hash_of((u64[]){ tunnel, ue }, 2) >> (64 - LOG))
#define DOWNLINK_FROM(ue) (hash_of((u64[]){ ue }, 1) >> (64 - LOG))
#endif

static __always_inline u32 uplink_at(u64 tunnel, u32 ue)
{
	PROBE(UPLINK_FROM(tunnel, ue), SESSIONS, PROBED, uplinks[at].way,
	      uplinks[at].tunnel == tunnel && uplinks[at].ue == ue);
}

static __always_inline u32 downlink_at(u32 ue)
{
	PROBE(DOWNLINK_FROM(ue), SESSIONS, PROBED, downlinks[at].way, downlinks[at].ue == ue);
}

/* Is it a G-PDU of the usual shape? Type and tos, fragment and protocol, port; version 1, an extension, G-PDU;
 * the next is a container of four bytes, behind it none; IPv4 without options. */
static __always_inline int usual(void *p)
{
	return (load32(p, 12) & bpf_htonl(0xffffff00)) == bpf_htonl(0x08004500) &&
	       (load32(p, 20) & bpf_htonl(0x3fff00ff)) == bpf_htonl(17) && load16(p, 36) == bpf_htons(2152) &&
	       (load16(p, 42) & bpf_htons(0xf4ff)) == bpf_htons(0x34ff) &&
	       load16(p, 53) == bpf_htons(0x8501) && !load8(p, 57) && load8(p, 58) == 0x45 &&
	       !(load16(p, 64) & bpf_htons(0x3fff));
}

/* Of the usual shape: do its five lengths fit into each other? */
static __always_inline int fits(void *p, void *end, u64 length)
{
	u32 total = load_be16(p, 16), udp = load_be16(p, 38), gtp = load_be16(p, 44), extent = load_be16(p, 60);

	return extent >= 20 && extent + 8 <= gtp && gtp + 16 <= udp && udp + 20 <= total && total + 14 <= length &&
	       !cut_ports(p + 58, end, extent);
}

SEC("xdp")
int upf_n3(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip = data + 58;
	u64 length = frame_length(ctx);
	struct way *way;
	u32 at;

	if (unlikely(ip + 20 > end || !usual(data)))
		return done(LEFT_OUT, XDP_PASS);
	if (unlikely(!fits(data, end, length)))
		return done(MALFORMED, XDP_DROP);
	at = uplink_at(load32(data, 46) | (u64)load32(data, 30) << 32, load32(ip, 12));
	if (at == NOWHERE)
		return done(MISSED, XDP_PASS);
	count(uplink_counts, SESSIONS, at, length);
	if (unlikely(load8(data, 55) >> 4 != 1)) /* the PDU type of uplink */
		return done(DROPPED, XDP_DROP);
	if (unlikely(is_multicast(load32(ip, 16)) || is_of_host(load32(ip, 16))))
		return done(LOCAL, XDP_DROP);
	way = &ways[uplinks[at].way & (WAYS - 1)];
	if (way->action != CORE)
		return done(DROPPED, XDP_DROP);
	if (unlikely(!join_ecn(load8(data, 15), ip)))
		return done(ECN, XDP_DROP);
	if (unlikely(load8(data, 0) & 1 || is_confined(ip)))
		return done(CONFINED, XDP_DROP);
	if (unlikely(load8(ip, 8) <= 1))
		return done(TTL, XDP_DROP);
	if (unlikely(load_be16(ip, 2) > way->hop.mtu))
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

SEC("xdp")
int upf_n6(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip = data + 14;
	u64 length = frame_length(ctx);
	u32 at, extent, tos;
	struct way *way;

	if (unlikely(ip + 20 > end || (load32(data, 12) & bpf_htonl(0xffffff00)) != bpf_htonl(0x08004500) ||
		     load16(ip, 6) & bpf_htons(0x3fff)))
		return done(LEFT_OUT, XDP_PASS);
	extent = load_be16(ip, 2);
	if (unlikely(extent < 20 || extent + 14 > length || cut_ports(ip, end, extent)))
		return done(MALFORMED, XDP_DROP);
	if (unlikely(is_multicast(load32(ip, 16)) || is_of_host(load32(ip, 16))))
		return done(LOCAL, XDP_PASS);
	at = downlink_at(load32(ip, 16));
	if (at == NOWHERE)
		return done(MISSED, XDP_PASS);
	count(downlink_counts, SESSIONS, at, length);
	way = &ways[downlinks[at].way & (WAYS - 1)];
	if (way->action != TUNNEL)
		return done(DROPPED, XDP_DROP);
	if (unlikely(load8(data, 0) & 1 || is_confined(ip)))
		return done(CONFINED, XDP_PASS);
	if (unlikely(load8(ip, 8) <= 1))
		return done(TTL, XDP_DROP);
	if (unlikely(extent + PUSHED > way->hop.mtu))
		return done(TOO_BIG, XDP_DROP);
	tos = load8(ip, 1) & 0xfc;
	if (unlikely(!move_begin(ctx, -PUSHED, way->hop.vlan)))
		return done(NO_ROOM, XDP_DROP);
	data = (void *)(long)ctx->data;
	if (unlikely(data + 78 > (void *)(long)ctx->data_end))
		return done(MALFORMED, XDP_DROP);
	put_ipv4(data, way, tos, extent + PUSHED, 17);
	store_be32(data, 34, 2152 << 16 | 2152);
	store_be32(data, 38, (extent + PUSHED - 20) << 16);
	store_be32(data, 42, 0x34ff0000 | (extent + 8));
	store32(data, 46, downlinks[at].teid);
	store_be32(data, 50, 0x85);
	store32(data, 54, downlinks[at].container);
	decrement_ttl(data + 58);
	return leave(ctx, &way->hop);
}

char _license[] SEC("license") = "GPL";
