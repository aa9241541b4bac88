/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a SCHED_CLS program does in another way than one of XDP; included by helio.bpf.h. It is given an
 * skb: the frame, and beside it what the kernel keeps of the frame, which has to stay true. Stages end
 * with numbers of enum xdp_action here too: `tc_action` is what a program returns for them.
 */
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

/* As what the kernel is to segment a packet that was encapsulated. */
#define AS_IPIP BPF_F_ADJ_ROOM_ENCAP_L3_IPV4
#define AS_GRE (BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 | BPF_F_ADJ_ROOM_ENCAP_L4_GRE)
#define MOST_HEADERS 256 /* bytes: what is read directly has to lie within the first so many */

static __always_inline u64 frame_length(CONTEXT *ctx)
{
	return ctx->len;
}

/* Have the headers where they can be read. 0: this packet is none for us, since a tag in its metadata
 * would not be seen, or there is no memory. */
static __always_inline int tc_begin(CONTEXT *ctx)
{
	u32 length = ctx->len, wanted = length < MOST_HEADERS ? length : MOST_HEADERS;

	if (ctx->vlan_present)
		return 0;
	barrier_var(ctx); /* as in limit_of */
	return (long)ctx->data_end - (long)ctx->data >= wanted || !bpf_skb_pull_data(ctx, wanted);
}

static __always_inline int tc_action(CONTEXT *ctx, int action)
{
	if (action == XDP_PASS)
		return TC_ACT_UNSPEC; /* for the next program to see */
	if (action == XDP_TX)
		return bpf_redirect(ctx->ifindex, 0);
	return action == XDP_REDIRECT ? TC_ACT_REDIRECT : TC_ACT_SHOT;
}

/* Have XDP_REDIRECT mean: out of the port. 0: there is no such port. */
static __always_inline int send_out(u32 number)
{
	struct port *port = bpf_map_lookup_elem(&ports, &number);

	return port && port->in_use && bpf_redirect(port->ifindex, 0) == TC_ACT_REDIRECT;
}

/* Whether the frame has a tag that is not in the metadata: only then its protocol is one. */
static __always_inline int tagged_inside(CONTEXT *ctx)
{
	return ctx->protocol == bpf_htons(ETH_P_8021Q) || ctx->protocol == bpf_htons(ETH_P_8021AD);
}

/* Remove so many bytes behind the MAC addresses and type, or insert some (by < 0). Not 0 if that cannot
 * be. The segments of a GSO packet keep what they carry: they get shorter, or longer. */
static __always_inline int adjust_room(CONTEXT *ctx, int by, u64 flags)
{
	return by && bpf_skb_adjust_room(ctx, -by, BPF_ADJ_ROOM_MAC, flags | BPF_F_ADJ_ROOM_FIXED_GSO);
}

/* The frame starts `by` bytes later; what is then in front is for the caller to write. Not 0 if it
 * cannot: the kernel would not find what is behind a tag that is written back. */
static __always_inline int move_head(CONTEXT *ctx, int by)
{
	return tagged_inside(ctx) || adjust_room(ctx, by, 0);
}

/* The frame ends `by` bytes later: one packet from here on, if it stood for segments. */
static __always_inline int move_end(CONTEXT *ctx, int by)
{
	return bpf_skb_change_tail(ctx, ctx->len + by, 0);
}

/* `pushed` bytes between the MAC header, which the caller writes, and byte `from`. `flags`: as what the
 * kernel is to segment the packet. 0: it cannot be, or no IPv4 header could say its length; the frame is
 * perhaps half done. */
static __noinline int make_room(CONTEXT *ctx, u32 from, u32 pushed, u64 flags)
{
	if (ctx->len - from + pushed > 0xffff)
		return 0;
	if (tagged_inside(ctx)) {
		if (bpf_skb_vlan_pop(ctx) || tagged_inside(ctx) || ctx->vlan_present)
			return 0;
		from -= 4;
	}
	return !adjust_room(ctx, from - ETH_HLEN, 0) && !adjust_room(ctx, -pushed, flags);
}

/* Octets of the largest IPv4 packet that leaves for the one of `extent` bytes at byte `at`: of GSO, a
 * segment. Of others than TCP and UDP nobody knows the headers, and the whole counts. */
static __noinline u32 segment_extent(CONTEXT *ctx, u32 at, u32 extent)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *ip = packet_at(data, at), *upper;
	u32 size;

	if (!ctx->gso_size || ip + 20 > end)
		return extent;
	size = (load8(ip, 0) & 15) * 4;
	upper = ip + size;
	if (upper + 20 > end)
		return extent;
	if (load8(ip, 9) == 6)
		size += (load8(upper, 12) >> 4) * 4;
	else if (load8(ip, 9) == 17)
		size += 8;
	else
		return extent;
	size += ctx->gso_size;
	return size < extent ? size : extent;
}

/* A tag in the metadata: the driver writes it. 0: no memory. */
static __always_inline int insert_vlan(CONTEXT *ctx, u16 tag)
{
	return !bpf_skb_vlan_push(ctx, bpf_htons(ETH_P_8021Q), tag);
}

/* The checksum of the TCP header at byte `tcp` of the frame follows a word; not where it is partial, and
 * covers the pseudo header only. */
static __always_inline void follow_tcp(CONTEXT *ctx, u32 tcp, void *header, u16 old, u16 new)
{
	bpf_l4_csum_replace(ctx, tcp + 16, old, new, 2);
}
