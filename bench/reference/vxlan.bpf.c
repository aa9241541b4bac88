/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What pipelines/vxlan_gateway.hp does with IPv4 of known networks, as an expert writes it by hand. What is
 * known of a network stands in one entry by its VNI, that of a port by its interface. Stations that are learnt
 * are in the kernel's LRU hash, as they are Helio's; the time is the coarse one, which is good enough for ages.
 *
 * Left out, since no packet here meets it: what is not of the usual shape (VLANs, IP options, fragments, what
 * else than IPv4 a network carries), members, and stations that are not named but learnt, as a destination.
 */
#include "by_hand.h"

#define PLACES (1 << LOG)
#define NETWORKS 4096
#define PUSHED 36 /* IPv4, UDP, VXLAN; in front of them another Ethernet header */
#define VNI bpf_htonl(0xffffff00) /* as it stands in the header's second word */
#define AGE 300000000000L /* ns */
#define SECOND 1000000000L

struct station {
	u64 mac; /* the lower 48 bits, as in the packet */
	u32 vni;
	u32 way; /* 0: no station */
};

struct network {
	u64 addresses; /* of the peer that is let in, and ours */
	u32 vni;
	u32 way; /* to the tenant's port; 0: no network */
};

struct segment {
	u32 ifindex;
	u32 vni;
	u32 port;
	u32 reserved;
};

struct fdb_key {
	u32 vni;
	u32 mac[2]; /* six bytes, two of zero */
};

struct fdb_entry {
	u64 seen;
	u32 remote;
	u32 port;
};

TABLE(struct station, stations, PLACES);
TABLE(struct counts, station_counts, CPUS * PLACES);
TABLE(struct network, networks, NETWORKS);
TABLE(struct counts, network_counts, CPUS * NETWORKS); /* of frames that are let in */
TABLE(struct counts, vtep_counts, CPUS * NETWORKS); /* of all; a VTEP's are the sum of its networks' */
TABLE(struct segment, segments, 256); /* by the lower bits of the interface's index */
TABLE(struct counts, segment_counts, CPUS * 256);

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct fdb_key);
	__type(value, struct fdb_entry);
} fdb SEC(".maps");

static __always_inline u64 mac_at(const void *p)
{
	return load32(p, 0) | (u64)load16(p, 4) << 32;
}

static __always_inline u32 station_at(u64 mac, u32 vni)
{
	PROBE(hash_of((u64[]){ mac, vni }, 2) >> (64 - LOG), PLACES, MOST_PROBED, stations[at].way,
	      stations[at].mac == mac && stations[at].vni == vni);
}

static __always_inline u32 network_at(u32 vni)
{
	PROBE(hash_of((u64[]){ vni }, 1) >> (64 - 12), NETWORKS, MOST_PROBED, networks[at].way,
	      networks[at].vni == vni);
}

/* 01:80:c2:00:00:00 to 0f, which no bridge relays. */
static __always_inline int is_reserved(u64 mac)
{
	return (mac & bpf_cpu_to_be64(0xfffffffffff00000)) == bpf_cpu_to_be64(0x0180c20000000000);
}

/* Where a sender is, unless the controller says it. */
static __always_inline void learn_station(u64 mac, u32 vni, u32 remote, u32 port, u64 length)
{
	struct fdb_key key = { vni, { mac, mac >> 32 } };
	u32 at = station_at(mac, vni);
	struct fdb_entry *known, entry;
	u64 now;

	if (at != NOWHERE) {
		count(station_counts, PLACES, at, length);
		return;
	}
	known = bpf_map_lookup_elem(&fdb, &key);
	now = bpf_ktime_get_coarse_ns();
	if (known && known->remote == remote && known->port == port) {
		if (unlikely((long)(now - known->seen) > SECOND))
			*(volatile u64 *)&known->seen = now;
		return;
	}
	entry = (struct fdb_entry){ now, remote, port };
	bpf_map_update_elem(&fdb, &key, &entry, BPF_ANY);
}

/* The usual shape of a tenant's frame: IPv4 without options, no fragment. */
static __always_inline int usual(void *p)
{
	return (load32(p, 12) & bpf_htonl(0xffffff00)) == bpf_htonl(0x08004500) &&
	       !(load16(p, 20) & bpf_htons(0x3fff));
}

static __always_inline int fits(void *p, void *end, u64 length)
{
	u32 extent = load_be16(p, 16);

	return extent >= 20 && extent + 14 <= length && !cut_ports(p + 14, end, extent);
}

/* The UDP source port of a flow: the hash of MAC addresses, the sender's first, addresses, protocol, ports. */
static __always_inline u32 flow_port(void *p)
{
	u8 protocol = load8(p, 23);
	u32 ports = protocol == 17 || protocol == 6 ? load32(p, 34) : 0;
	u32 words[] = { load32(p, 6), load16(p, 10) | load16(p, 0) << 16, load32(p, 2), load32(p, 26),
			load32(p, 30), protocol | ports << 8, ports >> 24 };

	return 0xc000 + (jhash_words(words, 7) >> 18);
}

SEC("xdp")
int vxlan_access(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u64 length = frame_length(ctx), mac;
	u32 at, port, ecn, ifindex;
	struct segment *segment;
	struct way *way;

	if (unlikely(data + 42 > end || !usual(data)))
		return done(LEFT_OUT, XDP_PASS);
	if (unlikely(!fits(data, end, length)))
		return done(MALFORMED, XDP_DROP);
	mac = mac_at(data);
	if (unlikely(is_reserved(mac)))
		return done(RESERVED, XDP_PASS);
	if (unlikely(load8(data, 6) & 1))
		return done(RESERVED, XDP_DROP);
	ifindex = ctx->ingress_ifindex;
	segment = &segments[ifindex & 255];
	if (segment->ifindex != ifindex)
		return done(MISSED, XDP_DROP);
	count(segment_counts, 256, ifindex & 255, length);
	learn_station(mac_at(data + 6), segment->vni, 0, segment->port, length);
	at = station_at(mac, segment->vni);
	if (unlikely(at == NOWHERE))
		return done(LEFT_OUT, XDP_PASS);
	count(station_counts, PLACES, at, length);
	way = &ways[stations[at].way & (WAYS - 1)];
	if (unlikely(length + PUSHED > way->hop.mtu))
		return done(TOO_BIG, XDP_DROP);
	port = flow_port(data);
	ecn = load8(data, 15) & 3;
	if (unlikely(!move_begin(ctx, -14 - PUSHED, way->hop.vlan)))
		return done(NO_ROOM, XDP_DROP);
	data = (void *)(long)ctx->data;
	if (unlikely(data + 50 > (void *)(long)ctx->data_end))
		return done(MALFORMED, XDP_DROP);
	put_ipv4(data, way, ecn, length + PUSHED, 17);
	store_be32(data, 34, port << 16 | 4789);
	store_be32(data, 38, (u32)(length + 16) << 16);
	store_be32(data, 42, 0x08000000);
	store32(data, 46, segment->vni);
	return leave(ctx, &way->hop);
}

/* A frame in a tunnel: IPv4 without options, no fragment, UDP to the port of VXLAN, with a VNI. */
static __always_inline int is_carried(void *p)
{
	return usual(p) && load8(p, 23) == 17 && load16(p, 36) == bpf_htons(4789) && load8(p, 42) & 8;
}

SEC("xdp")
int vxlan_underlay(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *inner = data + 50;
	u64 length = frame_length(ctx);
	struct fdb_entry *known;
	u32 total, udp, at, vni;
	struct fdb_key key;
	struct way *way;
	u64 mac;

	if (unlikely(inner + 42 > end || !is_carried(data) || !usual(inner)))
		return done(LEFT_OUT, XDP_PASS);
	total = load_be16(data, 16);
	udp = load_be16(data, 38);
	if (unlikely(total + 14 > length || udp + 20 > total || udp + 34 != length || !fits(inner, end, length - 50)))
		return done(MALFORMED, XDP_DROP);
	vni = load32(data, 46) & VNI;
	at = network_at(vni);
	if (at == NOWHERE)
		return done(MISSED, XDP_PASS);
	count(vtep_counts, NETWORKS, at, length);
	if (networks[at].addresses != load64(data, 26))
		return done(MISSED, XDP_PASS);
	count(network_counts, NETWORKS, at, length);
	mac = mac_at(inner);
	if (unlikely(is_reserved(mac) || load8(inner, 6) & 1))
		return done(RESERVED, XDP_DROP);
	way = &ways[networks[at].way & (WAYS - 1)];
	learn_station(mac_at(inner + 6), vni, load32(data, 26), ctx->ingress_ifindex, length);
	if (unlikely(!join_ecn(load8(data, 15), inner + 14)))
		return done(ECN, XDP_DROP);
	key = (struct fdb_key){ vni, { mac, mac >> 32 } };
	known = bpf_map_lookup_elem(&fdb, &key);
	if (unlikely(known && (long)(bpf_ktime_get_coarse_ns() - known->seen) <= AGE)) {
		u32 named = station_at(mac, vni);

		if (named == NOWHERE)
			return known->remote ? done(DROPPED, XDP_DROP) : done(LEFT_OUT, XDP_PASS);
		count(station_counts, PLACES, named, length);
	}
	if (unlikely(length - 50 > way->hop.mtu + 18))
		return done(TOO_BIG, XDP_DROP);
	if (unlikely(bpf_xdp_adjust_head(ctx, 50)))
		return done(NO_ROOM, XDP_DROP);
	return leave(ctx, &way->hop);
}

char _license[] SEC("license") = "GPL";
