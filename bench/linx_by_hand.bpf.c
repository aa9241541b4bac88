/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The yardstick: what pipelines/linx.hp does with the packets of this benchmark, written by hand as well
 * as we can. Plain maps: an entry of the hash says where to go at once, so changing two rules can be
 * seen half done. With -DEPOCH it keeps the compiled pipeline's promise in the same way (cells that say
 * which record holds at a packet's epoch), so that the price of the promise can be separated from the
 * compiler's. Left out, since no packet here meets it: ICMP answers (the kernel gets such packets),
 * spreading over members, and the kernel's FIB behind the neighbour table.
 */
#include <stddef.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

#define static __always_inline static __always_inline
#define MAX_TUPLES 32
#define IP_FRAGMENT 0x3fff /* more fragments, or an offset */
#define IP_OFFSET 0x1fff
#define GRE_KEY 0x2000
#define GRE_CHECKSUM 0x8000
#define GRE_SEQUENCE 0x1000

enum { DROP = 3, PASS = 2, REDIRECT = 1 };
enum { TO_OVERLAY = 1, TO_PORT = 2 };
enum event { PASSED, DROPPED, REDIRECTED, MALFORMED, MISS_PDR, MISS_OVERLAY, TTL, TOO_BIG, UNRESOLVED,
	     NO_ROOM, DANGLING, EVENTS };

struct vlan_header {
	u16 tci;
	u16 type;
};

struct gre_header {
	u16 flags;
	u16 protocol;
};

struct counts {
	u64 packets;
	u64 bytes;
};

struct next_hop {
	u32 port;
	u16 mtu;
	u16 vlan;
	u8 mac[12];
	u8 resolved;
	u8 reserved[3];
};

struct neighbour_key {
	u32 port;
	u32 address;
};

struct pdr_key {
	u32 src, dst;
	u16 src_port, dst_port;
	u16 vlan;
	u8 tos, protocol;
	u16 tagged;
	u8 mac[ETH_ALEN];
	u32 tuple;
} __attribute__((packed, aligned(4)));

struct overlay_key {
	u32 local, remote, key, keyed;
};

/* Higher rank: more specific, then older. */
#ifdef EPOCH
struct pdr {
	u64 rank;
	u32 cell, reserved;
};
struct pdr_record {
	u32 far, reserved;
};
#else
struct pdr {
	u64 rank;
	u32 far, counter;
};
#endif

struct far {
	u32 to;
	u8 action, kind;
	u8 reserved[2];
};

struct overlay {
	struct next_hop hop;
	u32 local, remote, key;
	u32 keyed;
};

struct tuple {
	u64 rank; /* the best under this mask */
	struct pdr_key mask;
	u32 number;
};

struct directory {
	u32 count, reserved;
	struct tuple tuple[MAX_TUPLES];
};

#define MAP(name_, type_, key_, value_, entries, flags)                                             \
	struct {                                                                                    \
		__uint(type, type_);                                                                \
		__uint(max_entries, entries);                                                       \
		__uint(map_flags, flags);                                                           \
		__type(key, key_);                                                                  \
		__type(value, value_);                                                              \
	} name_ SEC(".maps")

MAP(local, BPF_MAP_TYPE_HASH, u32, u8, 4096, 0);
MAP(neighbours, BPF_MAP_TYPE_HASH, struct neighbour_key, struct next_hop, 16384, 0);
MAP(egress, BPF_MAP_TYPE_DEVMAP, u32, u32, 64, 0);
MAP(events, BPF_MAP_TYPE_PERCPU_ARRAY, u32, u64, EVENTS, 0);
MAP(directory, BPF_MAP_TYPE_ARRAY, u32, struct directory, 8, 0);
MAP(pdrs, BPF_MAP_TYPE_HASH, struct pdr_key, struct pdr, PDRS, 0);
MAP(pdr_counts, BPF_MAP_TYPE_PERCPU_ARRAY, u32, struct counts, 65537, 0);
MAP(fars, BPF_MAP_TYPE_ARRAY, u32, struct far, 4097, 0);
MAP(far_counts, BPF_MAP_TYPE_PERCPU_ARRAY, u32, struct counts, 4097, 0);
MAP(overlays, BPF_MAP_TYPE_ARRAY, u32, struct overlay, 257, 0);
MAP(overlay_numbers, BPF_MAP_TYPE_HASH, struct overlay_key, u32, 1024, 0);
MAP(overlay_counts, BPF_MAP_TYPE_PERCPU_ARRAY, u32, struct counts, 257, 0);
#ifdef EPOCH
MAP(control, BPF_MAP_TYPE_ARRAY, u32, u64, 1, 0);
MAP(directory_cells, BPF_MAP_TYPE_ARRAY, u32, u64, 1, 0);
MAP(pdr_cells, BPF_MAP_TYPE_ARRAY, u32, u64, 65537, 0);
MAP(pdr_records, BPF_MAP_TYPE_ARRAY, u32, struct pdr_record, 65537, 0);
MAP(far_cells, BPF_MAP_TYPE_ARRAY, u32, u64, 4097, 0);
MAP(overlay_cells, BPF_MAP_TYPE_ARRAY, u32, u64, 257, 0);
#endif

/* What a rule's number leads to in this packet's epoch; 0: nothing. */
#ifdef EPOCH
#define SLOT(cells, number, epoch)                                                                  \
	({                                                                                          \
		u32 at_ = number;                                                                   \
		u64 *cell_ = bpf_map_lookup_elem(&cells, &at_);                                     \
		cell_ ? slot_now(*(volatile u64 *)cell_, epoch) : 0;                                    \
	})
static __always_inline u32 slot_now(u64 cell, u16 epoch)
{
	return ((short)(epoch - (u16)(cell >> 48)) >= 0 ? cell >> 24 : cell) & 0xffffff;
}
#else
#define SLOT(cells, number, epoch) (number)
#endif

struct found {
	u32 far, counter;
};

struct packet {
	struct ethhdr *eth;
	struct iphdr *ip;
	struct tcphdr *tcp;
	u32 at; /* of the IP header */
	u32 length; /* on arrival */
	u16 epoch;
	u16 src_port, dst_port;
	u16 vlan, tagged;
};

static __always_inline int done(enum event event, int action)
{
	u32 key = event;
	u64 *count = bpf_map_lookup_elem(&events, &key);

	if (count)
		*count += 1;
	return action;
}

static __always_inline void count(void *map, u32 number, u32 length)
{
	struct counts *counts = bpf_map_lookup_elem(map, &number);

	if (counts) {
		counts->packets += 1;
		counts->bytes += length;
	}
}

static __always_inline u16 fold(u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static __always_inline int is_local(u32 address)
{
	return (address & bpf_htonl(0xf0000000)) == bpf_htonl(0xe0000000) || address == 0xffffffff ||
	       bpf_map_lookup_elem(&local, &address) != 0;
}

/* ---- parsing ------------------------------------------------------------------------------------ */

/* The IPv4 header at `ip` and the TCP or UDP ports behind it. `limit`: the frame may not be read
 * beyond. 1: there is one, 0: it is not IPv4, -1: malformed. */
static __always_inline int parse_ip(struct packet *p, void *ip, u32 at, void *end, u32 limit)
{
	struct iphdr *h = ip;
	struct udphdr *udp;
	struct tcphdr *tcp;
	u32 size, total;

	if ((void *)(h + 1) > end || at + sizeof(*h) > limit)
		return -1;
	if (h->version != 4)
		return 0;
	size = h->ihl * 4;
	total = bpf_ntohs(h->tot_len);
	if (size < sizeof(*h) || ip + size > end || total < size || at + total > limit)
		return -1;
	p->ip = h;
	p->at = at;
	limit = at + total;
	at += size;
	if (h->frag_off & bpf_htons(IP_OFFSET))
		return 1;
	if (h->protocol == IPPROTO_UDP) {
		udp = ip + size;
		if ((void *)(udp + 1) > end || at + sizeof(*udp) > limit)
			return -1;
		if (!(h->frag_off & bpf_htons(IP_FRAGMENT))) {
			p->src_port = udp->source;
			p->dst_port = udp->dest;
		}
	} else if (h->protocol == IPPROTO_TCP) {
		tcp = ip + size;
		if ((void *)(tcp + 1) > end || tcp->doff < 5 || at + tcp->doff * 4 > limit)
			return -1;
		p->tcp = tcp;
		if (!(h->frag_off & bpf_htons(IP_FRAGMENT))) {
			p->src_port = tcp->source;
			p->dst_port = tcp->dest;
		}
	}
	return 1;
}

/* ---- rules -------------------------------------------------------------------------------------- */

static __always_inline int find_pdr(struct packet *p, struct found *found)
{
	struct pdr_key key __attribute__((aligned(8))) = {
		.src = p->ip->saddr, .dst = p->ip->daddr,
		.src_port = p->src_port, .dst_port = p->dst_port,
		.vlan = p->vlan, .tos = p->ip->tos, .protocol = p->ip->protocol, .tagged = p->tagged,
	};
	u64 *k = (void *)&key, best = 0;
	u32 zero = SLOT(directory_cells, 0, p->epoch);
	struct directory *d = bpf_map_lookup_elem(&directory, &zero);
#ifdef EPOCH
	u32 record = 0;
	struct pdr_record *r;
#endif
	if (!d)
		return 0;
	__builtin_memcpy(key.mac, p->eth->h_source, ETH_ALEN);
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < MAX_TUPLES; i++) {
		struct pdr_key masked __attribute__((aligned(8)));
		u64 *m = (void *)&d->tuple[i].mask, *to = (void *)&masked;
		struct pdr *pdr;

		if (i >= d->count || best > d->tuple[i].rank)
			break;
		to[0] = k[0] & m[0];
		to[1] = k[1] & m[1];
		to[2] = k[2] & m[2];
		masked.tuple = d->tuple[i].number;
		pdr = bpf_map_lookup_elem(&pdrs, &masked);
		if (pdr && pdr->rank > best) {
#ifdef EPOCH
			u32 now = SLOT(pdr_cells, pdr->cell, p->epoch);

			if (!now)
				continue;
			record = now;
			found->counter = pdr->cell;
#else
			found->far = pdr->far;
			found->counter = pdr->counter;
#endif
			best = pdr->rank;
		}
	}
#ifdef EPOCH
	if (!record)
		return 0;
	r = bpf_map_lookup_elem(&pdr_records, &record);
	if (!r)
		return 0;
	found->far = r->far;
#endif
	return best != 0;
}

static __always_inline struct overlay *overlay_at(u32 number, u16 epoch)
{
	u32 slot = SLOT(overlay_cells, number, epoch);

	return slot ? bpf_map_lookup_elem(&overlays, &slot) : 0;
}

/* The overlay that an outer header belongs to: that of its key, else the one without. */
static __always_inline int known_overlay(struct iphdr *outer, u32 key, u32 keyed, u16 epoch, u32 *number)
{
	struct overlay_key k = { outer->daddr, outer->saddr, key, keyed };
	u32 *n = bpf_map_lookup_elem(&overlay_numbers, &k);

	if (!n && keyed) {
		k.key = k.keyed = 0;
		n = bpf_map_lookup_elem(&overlay_numbers, &k);
	}
	if (!n)
		return 0;
	*number = *n;
	return overlay_at(*n, epoch) != 0;
}

/* ---- the way out -------------------------------------------------------------------------------- */

static __always_inline void decrement_ttl(struct iphdr *ip)
{
	u32 check = ip->check + bpf_htons(0x0100);

	ip->check = check + (check >= 0xffff);
	ip->ttl--;
}

/* The MSS option of the SYN whose TCP header starts at `at` is no more than `most` afterwards. */
static __noinline int clamp_mss(struct xdp_md *ctx, u32 at, u32 most)
{
	void *end = (void *)(long)ctx->data_end, *tcp = (void *)(long)ctx->data + (at & 0x7fff);
	u32 o = 20;

#pragma clang loop unroll(disable)
	for (int i = 0; i < 40; i++) {
		u8 *p = tcp + (o & 63);

		if ((void *)(p + 4) > end || p[0] == 0)
			break;
		if (p[0] == 1) {
			o++;
			continue;
		}
		if (p[0] == 2 && p[1] == 4 && (u32)(p[2] << 8 | p[3]) > most) {
			u16 *check = tcp + 16;
			u16 old = o & 1 ? p[2] << 8 | p[3] : p[2] | p[3] << 8;
			u16 new = o & 1 ? most : bpf_htons(most);

			if (tcp + 20 > end)
				break;
			*check = fold((u64)(u16)~*check + (u16)~old + new);
			p[2] = most >> 8;
			p[3] = most;
			break;
		}
		if (p[1] < 2)
			break;
		o += p[1];
	}
	return 0;
}

static __noinline int insert_vlan(struct xdp_md *ctx, u16 tci)
{
	void *data, *end;

	if (bpf_xdp_adjust_head(ctx, -4))
		return 0;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + 18 > end)
		return 0;
	__builtin_memmove(data, data + 4, 12);
	*(u16 *)(data + 12) = bpf_htons(ETH_P_8021Q);
	*(u16 *)(data + 14) = bpf_htons(tci);
	return 1;
}

static __always_inline int leave(struct xdp_md *ctx, struct next_hop *hop)
{
	if (hop->vlan && !insert_vlan(ctx, hop->vlan))
		return done(NO_ROOM, XDP_DROP);
	done(REDIRECTED, 0);
	return bpf_redirect_map(&egress, hop->port, 0);
}

static __always_inline int forward_overlay(struct xdp_md *ctx, struct packet *p, u32 number)
{
	struct overlay *o = overlay_at(number, p->epoch);
	u32 extent = bpf_ntohs(p->ip->tot_len), pushed, tcp;
	u8 tos = p->ip->tos;
	void *data, *end;
	struct ethhdr *eth;
	struct gre_header *gre;
	struct iphdr *outer, *ip;

	if (!o)
		return done(DANGLING, XDP_DROP);
	count(&overlay_counts, number, p->length);
	pushed = o->keyed ? 28 : 24;
	if (p->ip->ttl <= 1)
		return done(TTL, XDP_PASS);
	if (!o->hop.resolved)
		return done(UNRESOLVED, XDP_PASS);
	if (extent + pushed > o->hop.mtu)
		return done(TOO_BIG, XDP_PASS);
	tcp = p->tcp ? ETH_HLEN + pushed + (u32)((void *)p->tcp - (void *)p->ip) : 0;
	if (bpf_xdp_adjust_head(ctx, (int)p->at - ETH_HLEN - (int)pushed))
		return done(NO_ROOM, XDP_DROP);
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + ETH_HLEN + 24 + 4 + sizeof(*ip) > end)
		return done(MALFORMED, XDP_DROP);
	eth = data;
	__builtin_memcpy(eth, o->hop.mac, 12);
	eth->h_proto = bpf_htons(ETH_P_IP);
	outer = data + ETH_HLEN;
	*(u16 *)outer = bpf_htons(0x4500 | tos);
	outer->tot_len = bpf_htons(extent + pushed);
	outer->id = 0;
	outer->frag_off = bpf_htons(0x4000);
	outer->ttl = 64;
	outer->protocol = IPPROTO_GRE;
	outer->saddr = o->local;
	outer->daddr = o->remote;
	outer->check = fold((u64)bpf_htons(0x4500 | tos) + bpf_htons(extent + pushed) +
			    bpf_htons(0x4000) + bpf_htons(64 << 8 | IPPROTO_GRE) + o->local + o->remote);
	gre = (void *)(outer + 1);
	gre->protocol = bpf_htons(ETH_P_IP);
	if (o->keyed) {
		gre->flags = bpf_htons(GRE_KEY);
		*(u32 *)(gre + 1) = o->key;
		ip = (void *)(gre + 1) + 4;
	} else {
		gre->flags = 0;
		ip = (void *)(gre + 1);
	}
	decrement_ttl(ip);
	if (tcp && !(ip->frag_off & bpf_htons(IP_FRAGMENT))) {
		struct tcphdr *t = data + (tcp & 0x7fff);

		if ((void *)(t + 1) <= end && t->syn)
			clamp_mss(ctx, tcp, o->hop.mtu - pushed - 40);
	}
	return leave(ctx, &o->hop);
}

static __always_inline int forward_port(struct xdp_md *ctx, struct packet *p, u32 port)
{
	struct neighbour_key key = { port, p->ip->daddr };
	struct next_hop *hop = bpf_map_lookup_elem(&neighbours, &key);
	struct ethhdr *eth;
	void *end;

	if (p->ip->ttl <= 1)
		return done(TTL, XDP_PASS);
	if (!hop)
		return done(UNRESOLVED, XDP_PASS);
	if (bpf_ntohs(p->ip->tot_len) > hop->mtu)
		return done(TOO_BIG, XDP_PASS);
	if (bpf_xdp_adjust_head(ctx, (int)p->at - ETH_HLEN))
		return done(NO_ROOM, XDP_DROP);
	eth = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if ((void *)(eth + 1) + sizeof(struct iphdr) > end)
		return done(MALFORMED, XDP_DROP);
	__builtin_memcpy(eth, hop->mac, 12);
	eth->h_proto = bpf_htons(ETH_P_IP);
	decrement_ttl((void *)(eth + 1));
	return leave(ctx, hop);
}

static __always_inline int judge(struct xdp_md *ctx, struct packet *p)
{
	struct found found = {};
	struct far *far;
	u32 slot;

	if (!find_pdr(p, &found))
		return done(MISS_PDR, XDP_PASS);
	count(&pdr_counts, found.counter, p->length);
	slot = SLOT(far_cells, found.far, p->epoch);
	far = slot ? bpf_map_lookup_elem(&fars, &slot) : 0;
	if (!far)
		return done(DANGLING, XDP_DROP);
	count(&far_counts, found.far, p->length);
	if (far->action == DROP)
		return done(DROPPED, XDP_DROP);
	if (far->action == PASS)
		return done(PASSED, XDP_PASS);
	if (far->kind == TO_OVERLAY)
		return forward_overlay(ctx, p, far->to);
	return forward_port(ctx, p, far->to);
}

/* ---- programs ----------------------------------------------------------------------------------- */

static __always_inline int begin(struct xdp_md *ctx, struct packet *p)
{
	u64 length = (long)ctx->data_end - (long)ctx->data;
#ifdef EPOCH
	u32 zero = 0;
	u64 *epoch = bpf_map_lookup_elem(&control, &zero);

	if (!epoch)
		return 0;
	p->epoch = *(volatile u64 *)epoch;
#endif
	asm volatile("" : "+r"(length)); /* 64 bits to the verifier's mind */
	p->length = length;
	return 1;
}

SEC("xdp")
int by_hand_lan(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct packet p = {};
	u32 at = ETH_HLEN;
	u16 type;
	int is;

	if (!begin(ctx, &p))
		return XDP_ABORTED;
	p.eth = eth;
	if ((void *)(eth + 1) > end)
		return done(MALFORMED, XDP_DROP);
	type = eth->h_proto;
	if (type == bpf_htons(ETH_P_8021Q)) {
		struct vlan_header *vlan = data + at;

		if ((void *)(vlan + 1) > end)
			return done(MALFORMED, XDP_DROP);
		p.vlan = vlan->tci;
		p.tagged = 1;
		type = vlan->type;
		at += sizeof(*vlan);
	}
	if (type != bpf_htons(ETH_P_IP))
		return done(PASSED, XDP_PASS);
	is = parse_ip(&p, data + at, at, end, p.length);
	if (is < 0)
		return done(MALFORMED, XDP_DROP);
	if (!is || is_local(p.ip->daddr))
		return done(PASSED, XDP_PASS);
	return judge(ctx, &p);
}

SEC("xdp")
int by_hand_wan(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *outer = data + ETH_HLEN;
	struct gre_header *gre;
	struct packet p = {};
	u32 at, limit, size, key = 0, keyed, number;
	int is;

	if (!begin(ctx, &p))
		return XDP_ABORTED;
	p.eth = eth;
	if ((void *)(eth + 1) > end)
		return done(MALFORMED, XDP_DROP);
	if (eth->h_proto != bpf_htons(ETH_P_IP))
		return done(PASSED, XDP_PASS);
	if ((void *)(outer + 1) > end)
		return done(MALFORMED, XDP_DROP);
	if (outer->version != 4)
		return done(PASSED, XDP_PASS);
	size = outer->ihl * 4;
	limit = ETH_HLEN + bpf_ntohs(outer->tot_len);
	at = ETH_HLEN + size;
	if (size < sizeof(*outer) || limit > p.length || at > limit)
		return done(MALFORMED, XDP_DROP);
	if (outer->frag_off & bpf_htons(IP_OFFSET) || outer->protocol != IPPROTO_GRE)
		return done(PASSED, XDP_PASS);
	gre = data + at;
	if ((void *)(gre + 1) > end)
		return done(MALFORMED, XDP_DROP);
	if (gre->flags & bpf_htons(0x4007)) /* routing, or another version */
		return done(PASSED, XDP_PASS);
	keyed = !!(gre->flags & bpf_htons(GRE_KEY));
	size = 4 + (gre->flags & bpf_htons(GRE_CHECKSUM) ? 4 : 0);
	if (keyed) {
		u32 *field = (void *)gre + size;

		if ((void *)(field + 1) > end)
			return done(MALFORMED, XDP_DROP);
		key = *field;
		size += 4;
	}
	size += gre->flags & bpf_htons(GRE_SEQUENCE) ? 4 : 0;
	at += size;
	if (at > limit)
		return done(MALFORMED, XDP_DROP);
	if (gre->protocol != bpf_htons(ETH_P_IP))
		return done(PASSED, XDP_PASS);
	is = parse_ip(&p, (void *)gre + size, at, end, limit);
	if (is < 0)
		return done(MALFORMED, XDP_DROP);
	if (!is)
		return done(PASSED, XDP_PASS);
	if (!known_overlay(outer, key, keyed, p.epoch, &number))
		return done(MISS_OVERLAY, XDP_PASS);
	count(&overlay_counts, number, p.length);
	if ((outer->tos & 3) == 3 && !(p.ip->tos & 3)) /* RFC 6040: CE may not be lost */
		return done(DROPPED, XDP_DROP);
	if (is_local(p.ip->daddr)) {
		if (bpf_xdp_adjust_head(ctx, (int)p.at - ETH_HLEN))
			return done(NO_ROOM, XDP_DROP);
		return done(PASSED, XDP_PASS);
	}
	return judge(ctx, &p);
}

char _license[] SEC("license") = "Dual BSD/GPL";
