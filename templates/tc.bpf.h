/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a SCHED_CLS program does in another way than one of XDP; included by helio.bpf.h. It is given an
 * skb: the frame, and beside it what the kernel keeps of the frame, which has to stay true. Stages end
 * with numbers of enum xdp_action here too: `tc_action` is what a program returns for them.
 *
 * A tag that is in the metadata stands in the frame while the program runs, as XDP would see it, and an
 * empty tag (TCI 0) in the metadata, behind which the kernel keeps it there: bpf_skb_vlan_pop brings it back.
 * Where the frame's ends are moved, all tags are taken out first: what the kernel then knows is Ethernet and
 * what is behind it. The caller writes link headers as they are to be, and as the packet leaves the kernel
 * learns what it is by that: see `settle`.
 *
 * HELIO_TAGS_IN_FRAME: for test runs, which show no metadata: tags that come in the frame are put there
 * first, and are put back last.
 */
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

/* As what the kernel is to segment a packet with these headers around it, and what else is to be done. */
#define AS_IPV4 BPF_F_ADJ_ROOM_ENCAP_L3_IPV4
#define AS_IPV6 BPF_F_ADJ_ROOM_ENCAP_L3_IPV6
#define AS_GRE BPF_F_ADJ_ROOM_ENCAP_L4_GRE
#define AS_UDP BPF_F_ADJ_ROOM_ENCAP_L4_UDP
#define AS_FRAME BPF_F_ADJ_ROOM_ENCAP_L2(ETH_HLEN)
#define NO_SEGMENTS (1ULL << 32) /* what stands for segments is refused: the kernel could not make them */
#define WHOLE (1ULL << 33)	 /* all of the packet is read: sums go over its payload */
#define TO_KERNEL 0xfULL << 1    /* what of these is for bpf_skb_adjust_room, but for an inner link header */

#define MOST_HEADERS 512 /* bytes: what is read directly has to lie within the first so many */
#define MOST_TAGS 3
#define MOST_LINK 32 /* bytes: an Ethernet header and so many tags, rounded up to a power of two */

static __always_inline u64 frame_length(CONTEXT *ctx)
{
	return ctx->len;
}

static __always_inline int is_tag(u32 protocol)
{
	return protocol == bpf_htons(ETH_P_8021Q) || protocol == bpf_htons(ETH_P_8021AD);
}

/* What the kernel takes the packet for; the context's address stays as it is, as in limit_of. */
static __always_inline u32 protocol_of(CONTEXT *ctx)
{
	barrier_var(ctx);
	return ctx->protocol;
}

static __always_inline int push_empty_tag(CONTEXT *ctx)
{
	return bpf_skb_vlan_push(ctx, bpf_htons(ETH_P_8021Q), 0);
}

/* The first `most` bytes, as far as there are so many, where they can be read. 0: no memory. */
static __always_inline int pull(CONTEXT *ctx, u32 most)
{
	u32 wanted = ctx->len < most ? ctx->len : most;

	barrier_var(ctx); /* as in limit_of */
	return (long)ctx->data_end - (long)ctx->data >= wanted || !bpf_skb_pull_data(ctx, wanted);
}

/* Find out whether the kernel is to complete the packet's checksum (CHECKSUM_PARTIAL), which no helper
 * says: bpf_l4_csum_replace then leaves a checksum as it is, whichever bytes it takes for one. What is sent as
 * segments (UDP_SEGMENT) by a device without checksums is CHECKSUM_NONE from Linux 6.11 on, and has no more than
 * the pseudo header in its checksum either; of segments that came in as such (a list of them) each has its own,
 * and is CHECKSUM_UNNECESSARY. 0: no memory. */
static __always_inline int find_partial(CONTEXT *ctx)
{
	u16 before, after;

	if (bpf_skb_load_bytes(ctx, 12, &before, 2) || bpf_l4_csum_replace(ctx, 12, 0, 1, 2) ||
	    bpf_skb_load_bytes(ctx, 12, &after, 2))
		return 0;
	ctx->PARTIAL = before == after || (ctx->gso_size && bpf_csum_level(ctx, BPF_CSUM_LEVEL_QUERY) < 0);
	return before == after || !bpf_skb_store_bytes(ctx, 12, &before, 2, 0);
}

/* Have the headers, and the tag, where they can be read. 0: no memory. */
static __always_inline int tc_begin(CONTEXT *ctx)
{
#ifdef HELIO_TAGS_IN_FRAME
	if (is_tag(protocol_of(ctx)) && !ctx->vlan_present && ctx->len >= ETH_HLEN + 4 &&
	    (push_empty_tag(ctx) || bpf_skb_vlan_pop(ctx)))
		return 0;
#endif
	if (ctx->vlan_present && push_empty_tag(ctx))
		return 0;
	return find_partial(ctx) && pull(ctx, MOST_HEADERS);
}

/* Whether something stands in front of a packet that has no link header: some kernels have GRE's devices take the
 * outer headers for one. */
static __always_inline int is_behind_more(CONTEXT *ctx)
{
#ifdef HELIO_TAGS_IN_FRAME
	return 0; /* a test run gives it a link header */
#else
	u64 first[2] = {}, ip[2] = {};
	u32 more[2] = {};

	if (bpf_skb_load_bytes_relative(ctx, 0, ip, 16, BPF_HDR_START_NET) ||
	    bpf_skb_load_bytes_relative(ctx, 16, &more[0], 4, BPF_HDR_START_NET) ||
	    bpf_skb_load_bytes(ctx, 0, first, 16) || bpf_skb_load_bytes(ctx, 16, &more[1], 4))
		return 0;
	return first[0] != ip[0] || first[1] != ip[1] || more[0] != more[1];
#endif
}

/* Have it come again, without that. */
static __always_inline int come_again(CONTEXT *ctx)
{
	return bpf_redirect(ctx->ifindex, BPF_F_INGRESS);
}

/* Likewise of a packet without a link header, which gets one for as long as programs look at it: with the type of
 * IPv4 or IPv6, or none of what is neither. Where it leaves by such a device, bpf_redirect takes that off; where it
 * passes, the kernel goes on behind it (skb->mac_len). Of test runs the caller does that. */
static __always_inline int tc_begin_bare(CONTEXT *ctx)
{
#ifndef HELIO_TAGS_IN_FRAME
	u16 type = ctx->protocol;
	u8 version;

	if (bpf_skb_load_bytes(ctx, 0, &version, 1))
		return 0;
	version >>= 4;
	if ((type != bpf_htons(ETH_P_IP) || version != 4) && (type != bpf_htons(ETH_P_IPV6) || version != 6))
		type = 0;
	if (bpf_skb_change_head(ctx, ETH_HLEN, 0) || bpf_skb_store_bytes(ctx, 12, &type, 2, 0))
		return 0;
#endif
	return tc_begin(ctx);
}

/* Take all tags that the kernel knows out of frame and metadata. Returns how many bytes the frame is
 * shorter, below 0 if that cannot be. */
static __always_inline int strip_tags(CONTEXT *ctx)
{
	u32 before = ctx->len;

#pragma clang loop unroll(full)
	for (int i = 0; i <= MOST_TAGS; i++)
		if ((ctx->vlan_present || is_tag(protocol_of(ctx))) && bpf_skb_vlan_pop(ctx))
			return -1;
	return before - ctx->len;
}

/* Have the kernel read what the Ethernet header says of what is behind it: it does where a tag is taken out
 * of the frame. A tag that stands in the frame is in the metadata then, as it was received so. There is none
 * before. 0: no memory. */
static __always_inline int read_type(CONTEXT *ctx)
{
	return !push_empty_tag(ctx) && !push_empty_tag(ctx) && !bpf_skb_vlan_pop(ctx) && !bpf_skb_vlan_pop(ctx);
}

/* The packet is about to leave: what the kernel knows of it is what stands in it. 0: no memory. */
static __noinline int settle(CONTEXT *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u16 type;

	if (ctx->vlan_present) { /* an empty tag, if not the port's */
		if (ctx->vlan_tci)
			return 1;
		if (bpf_skb_load_bytes(ctx, 12, &type, 2))
			return 0;
		/* no tag stands in the frame any more: the kernel would take four bytes for one */
		if (is_tag(protocol_of(ctx)) && !is_tag(type) && (push_empty_tag(ctx) || bpf_skb_vlan_pop(ctx)))
			return 0;
		return !bpf_skb_vlan_pop(ctx);
	}
	if (data + ETH_HLEN > end)
		return 0;
	type = load16(data, 12);
	return type == protocol_of(ctx) || bpf_ntohs(type) < ETH_P_802_3_MIN || read_type(ctx);
}

static __always_inline int tc_action(CONTEXT *ctx, int action)
{
	if (action != XDP_PASS && action != XDP_TX && action != XDP_REDIRECT)
		return TC_ACT_SHOT;
	if (!settle(ctx))
		return TC_ACT_SHOT;
#ifdef HELIO_TAGS_IN_FRAME
	if (ctx->vlan_present && push_empty_tag(ctx))
		return TC_ACT_SHOT;
#endif
	if (action == XDP_PASS)
		return TC_ACT_UNSPEC; /* for the next program to see */
	if (action == XDP_TX)
		return bpf_redirect(ctx->ifindex, 0);
	return TC_ACT_REDIRECT;
}

/* Have XDP_REDIRECT mean: out of the port. 0: there is no such port. */
static __always_inline int send_out(u32 number)
{
	struct port *port = bpf_map_lookup_elem(&ports, &number);

	return port && port->in_use && bpf_redirect(port->ifindex, 0) == TC_ACT_REDIRECT;
}

/* Insert so many bytes behind the Ethernet header of what the kernel takes for IP, or remove some (by < 0).
 * The segments of a GSO packet keep what they carry: they get longer, or shorter. 0: that cannot be. */
static __always_inline int adjust_room(CONTEXT *ctx, int by, u64 flags)
{
	if (!bpf_skb_adjust_room(ctx, by, BPF_ADJ_ROOM_MAC, flags | BPF_F_ADJ_ROOM_FIXED_GSO))
		return 1;
	/* encapsulated already: that matters for what stands for segments only */
	return flags && !ctx->gso_size && !bpf_skb_adjust_room(ctx, by, BPF_ADJ_ROOM_MAC, 0);
}

/* Bytes behind the Ethernet header that the kernel leaves of what it takes for IPv4, and for IPv6. */
#define LEAST_IPV4 20
#define LEAST_IPV6 40

static __always_inline int shrink(CONTEXT *ctx, u32 by)
{
	u32 padding = ctx->len < ETH_HLEN + by + LEAST_IPV4 ? LEAST_IPV4 : 0;

	if (padding && bpf_skb_change_tail(ctx, ctx->len + padding, 0))
		return 0;
	if (!adjust_room(ctx, -by, 0))
		return 0;
	return !padding || !bpf_skb_change_tail(ctx, ctx->len - padding, 0);
}

/* `size`, which is not 0, or MOST_LINK if that is less: the verifier sees both bounds. */
static __always_inline u32 up_to_link(u32 size)
{
	u32 less = (size < MOST_LINK ? size : MOST_LINK) - 1;

	barrier_var(less);
	return (less & (MOST_LINK - 1)) + 1;
}

/* Have the kernel take the packet, without tags, for IP, of which it makes room: for IPv4 where `rest` bytes
 * are less than it leaves of IPv6. 0: no memory. */
static __always_inline int as_ip(CONTEXT *ctx, u32 rest)
{
	u16 type = bpf_htons(ETH_P_IP);
	u32 protocol = protocol_of(ctx);

	if (protocol == type || (protocol == bpf_htons(ETH_P_IPV6) && rest >= ETH_HLEN + LEAST_IPV6))
		return 1;
	return !bpf_skb_store_bytes(ctx, 12, &type, 2, 0) && read_type(ctx);
}

/* What stays of the frame begins at byte `from`, and has `stays` bytes (0: all). In front of it are `front`
 * bytes, for the caller to write; where that is less than an Ethernet header, the frame begins with what
 * stays. `flags`: as above. 0: that cannot be, or no IP header could say its length; the frame is perhaps
 * half done. */
static __noinline int set_front(CONTEXT *ctx, u32 from, u32 front, u32 stays, u64 flags)
{
	u32 rest = stays ? stays : ctx->len - from, most = flags & WHOLE ? 0xffff : MOST_HEADERS, behind;
	int tagged = ctx->vlan_present || is_tag(protocol_of(ctx)), tags, by;
	int keeps = front < ETH_HLEN || from < (tagged ? MOST_LINK : ETH_HLEN);
	u8 kept[MOST_LINK] = {}; /* of what stays, what lies where link headers are taken out */

	if ((flags & NO_SEGMENTS && ctx->gso_size) || (flags & WHOLE && ctx->PARTIAL) || rest + front > 0xffff + ETH_HLEN)
		return 0;
	/* the tail first: what is encapsulated keeps its own */
	if (stays && stays != ctx->len - from && bpf_skb_change_tail(ctx, from + stays, 0))
		return 0;
	if (keeps && bpf_skb_load_bytes(ctx, from, kept, up_to_link(rest)))
		return 0;
	tags = strip_tags(ctx);
	if (tags < 0)
		return 0;
	if (ctx->len == rest + front && !keeps && !ctx->gso_size)
		return pull(ctx, most);
	if (!as_ip(ctx, rest))
		return 0;
	behind = ETH_HLEN + tags; /* where in the frame as it came all begins that is not taken out */
	if (from > behind && front >= ETH_HLEN) {
		if (!shrink(ctx, from - behind))
			return 0;
	} else if (from < behind && flags & TO_KERNEL) {
		flags |= BPF_F_ADJ_ROOM_ENCAP_L2((u64)(behind - from));
	}
	by = rest + front - ctx->len;
	if (by < 0 ? !shrink(ctx, -by) : by > 0 && !adjust_room(ctx, by, flags & ~(NO_SEGMENTS | WHOLE)))
		return 0;
	if (keeps && bpf_skb_store_bytes(ctx, front, kept, up_to_link(rest), 0))
		return 0;
	return pull(ctx, most);
}

/* The frame starts `by` bytes later; what is then in front (by < 0) is for the caller to write. Not 0 if it
 * cannot. */
static __always_inline int move_head(CONTEXT *ctx, int by)
{
	return !set_front(ctx, by > 0 ? by : 0, by < 0 ? -by : 0, 0, 0);
}

/* The frame ends `by` bytes later, and can be read up to there: one packet from here on, if it stood for
 * segments. */
static __always_inline int move_end(CONTEXT *ctx, int by)
{
	if (by > MAX_PUT)
		return 1;
	return by ? bpf_skb_change_tail(ctx, ctx->len + by, 0) : !pull(ctx, ctx->len);
}

#ifdef HELIO_COPIES
/* ---- copies -----------------------------------------------------------------------------------
 *
 * bpf_clone_redirect sends the packet as it is: it is made what the copy is to be, and behind that what it was.
 * So what stands for segments is copied only as it stands: the kernel remembers what was put around it.
 */
enum { STAYS, HALF_MOVED, MOVED }; /* what was done to the packet's front */

/* A packet as it was. */
struct uncopied {
	u32 length, front, from; /* `front` bytes stand in place of the first `from` */
	u32 state;
	u8 bytes[MOST_HEADERS];
};
PERCPU_MAP(uncopied, struct uncopied, 1);

#ifdef HELIO_TAGS_IN_FRAME
#define MOST_TESTED 32	    /* copies of a packet */
#define MOST_COPIED 0x1000 /* bytes of one */
/* Where test runs find copies. Of the first entry `port` says how many there are. */
struct tested_copy {
	u32 port, length;
	u8 bytes[MOST_COPIED];
};
ARRAY_MAP(copies, struct tested_copy, MOST_TESTED + 1, 0);

static __noinline int clone_to(CONTEXT *ctx, u32 number)
{
	u32 zero = 0, at, length = ctx->len - 1;
	struct tested_copy *first = bpf_map_lookup_elem(&copies, &zero), *copy;

	if (!first)
		return 0;
	at = ++first->port;
	copy = bpf_map_lookup_elem(&copies, &at);
	if (!copy || length >= MOST_COPIED)
		return 0;
	barrier_var(length);
	copy->port = number;
	copy->length = ctx->len;
	return !bpf_skb_load_bytes(ctx, 0, copy->bytes, (length & (MOST_COPIED - 1)) + 1);
}
#else
static __always_inline int clone_to(CONTEXT *ctx, u32 number)
{
	struct port *port = bpf_map_lookup_elem(&ports, &number);

	return port && port->in_use && !bpf_clone_redirect(ctx, port->ifindex, 0);
}
#endif

/* The port's tag is taken out of the metadata, and what stood in the frame is there again. */
static __always_inline void untag(CONTEXT *ctx, u32 tag, struct uncopied *kept)
{
	if (tag)
		bpf_skb_vlan_pop(ctx);
	if (ctx->vlan_present && push_empty_tag(ctx) && kept)
		kept->state = HALF_MOVED;
}

/* A copy of the packet leaves as it is now, by a port whose tag (0: none) was put into the metadata: it is
 * taken out again, and what tags there were stand in the frame, as behind `tc_begin`. 0: it did not leave. */
static __noinline int copy_to(CONTEXT *ctx, u32 number, u32 tag)
{
	u32 zero = 0;
	struct uncopied *kept = bpf_map_lookup_elem(&uncopied, &zero);
	int left = settle(ctx);

#ifdef HELIO_TAGS_IN_FRAME
	int tagged = left && ctx->vlan_present && !push_empty_tag(ctx);
	left = left && clone_to(ctx, number);
	if (tagged)
		bpf_skb_vlan_pop(ctx);
#else
	left = left && clone_to(ctx, number);
#endif
	untag(ctx, tag, kept);
	return left;
}

#ifdef HELIO_PARTS
#define MOST_CUT 0x4000 /* bytes that a copy leaves out */
PERCPU_MAP(cut, u8[MOST_CUT], 1);

/* As `copy_to`, of the packet's first bytes: no helper cuts what it clones, so the others are cut off, and put
 * behind again. What stands for segments would be one packet from there on: it does not leave. */
static __noinline int part_to(CONTEXT *ctx, u32 number, u32 tag, u32 most)
{
	u32 zero = 0, length = ctx->len, rest = length - most - 1;
	struct uncopied *kept = bpf_map_lookup_elem(&uncopied, &zero);
	u8 *others = bpf_map_lookup_elem(&cut, &zero);
	int left;

	if (length <= most)
		return copy_to(ctx, number, tag);
	if (!kept || !others || ctx->gso_size || rest >= MOST_CUT)
		goto lost;
	barrier_var(rest);
	rest = (rest & (MOST_CUT - 1)) + 1;
	if (bpf_skb_load_bytes(ctx, most, others, rest) || bpf_skb_change_tail(ctx, most, 0))
		goto lost;
	left = copy_to(ctx, number, tag);
	if (bpf_skb_change_tail(ctx, length, 0) || bpf_skb_store_bytes(ctx, most, others, rest, 0))
		kept->state = HALF_MOVED;
	return left;
lost:
	untag(ctx, tag, kept);
	return 0;
}
#endif

/* Bytes from the packet's first on that are kept; the verifier sees both bounds. */
static __always_inline u32 kept_bytes(u32 length)
{
	u32 less = (length < MOST_HEADERS ? length : MOST_HEADERS) - 1;

	barrier_var(less);
	return (less & (MOST_HEADERS - 1)) + 1;
}

/* Keep what a copy may change of the packet. 0: it cannot be read. */
__noinline int begin_copy(CONTEXT *ctx)
{
	u32 zero = 0;
	struct uncopied *kept = bpf_map_lookup_elem(&uncopied, &zero);

	if (!kept)
		return 0;
	kept->length = ctx->len;
	kept->state = STAYS;
	return !bpf_skb_load_bytes(ctx, 0, kept->bytes, kept_bytes(ctx->len));
}

/* As `set_front`, of a copy. */
static __noinline int set_copied_front(CONTEXT *ctx, u32 from, u32 front, u32 stays, u64 flags)
{
	u32 zero = 0, rest = stays ? stays : ctx->len - from;
	struct uncopied *kept = bpf_map_lookup_elem(&uncopied, &zero);

	if (!kept || ctx->gso_size || (flags & WHOLE && ctx->PARTIAL) || rest + front > 0xffff + ETH_HLEN)
		return 0;
	kept->from = from;
	kept->front = front;
	kept->state = HALF_MOVED;
	if (!set_front(ctx, from, front, stays, flags & (NO_SEGMENTS | WHOLE)))
		return 0;
	kept->state = MOVED;
	return 1;
}

static __always_inline int move_copied_head(CONTEXT *ctx, int by)
{
	return !set_copied_front(ctx, by > 0 ? by : 0, by < 0 ? -by : 0, 0, 0);
}

/* The packet, of which nothing was moved, is what it was. 0: no memory. */
__noinline int end_mirror(CONTEXT *ctx)
{
	u32 zero = 0;
	struct uncopied *kept = bpf_map_lookup_elem(&uncopied, &zero);
	int whole = kept && kept->state == STAYS;

	if (kept)
		kept->state = STAYS;
	return whole && pull(ctx, MOST_HEADERS);
}

/* The packet is what it was. 0: no memory. */
__noinline int end_copy(CONTEXT *ctx)
{
	u32 zero = 0;
	struct uncopied *kept = bpf_map_lookup_elem(&uncopied, &zero);

	if (!kept)
		return 0;
	if (kept->state == MOVED) {
		kept->state = HALF_MOVED;
		if (!set_front(ctx, kept->front, kept->from, 0, 0))
			return 0;
		if (ctx->len != kept->length && bpf_skb_change_tail(ctx, kept->length, 0))
			return 0; /* padding was cut off */
		if (bpf_skb_store_bytes(ctx, 0, kept->bytes, kept_bytes(kept->length), 0) || !settle(ctx))
			return 0;
		if (ctx->vlan_present && push_empty_tag(ctx))
			return 0;
		kept->state = STAYS;
	}
	return end_mirror(ctx);
}
#endif

/* Octets of the largest packet that leaves for the one of `extent` bytes at byte `at`, an IP header or (`link`)
 * that of a frame, perhaps with a tag: of GSO, a segment. Of others than TCP and UDP nobody knows the headers,
 * and the whole counts. */
static __noinline u32 segment_extent(CONTEXT *ctx, u32 at, u32 extent, u32 link)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *ip = packet_at(data, at), *upper;
	u32 size, protocol;

	if (!ctx->gso_size || ip + ETH_HLEN > end)
		return extent;
	if (link) {
		link = is_tag(load16(ip, 12)) ? ETH_HLEN + 4 : ETH_HLEN;
		ip = packet_at(data, at + link);
	}
	if (ip + 20 > end)
		return extent;
	if (load8(ip, 0) >> 4 == 6) {
		size = 40;
		protocol = load8(ip, 6);
	} else {
		size = (load8(ip, 0) & 15) * 4;
		protocol = load8(ip, 9);
	}
	upper = ip + size;
	if (upper + 20 > end)
		return extent;
	if (protocol == 6)
		size += (load8(upper, 12) >> 4) * 4;
	else if (protocol == 17)
		size += 8;
	else
		return extent;
	size += link + ctx->gso_size;
	return size < extent ? size : extent;
}

/* A tag in the metadata: the driver writes it. What was there stands in the frame, behind it. 0: no
 * memory. */
static __always_inline int insert_vlan(CONTEXT *ctx, u16 tag)
{
	return settle(ctx) && !bpf_skb_vlan_push(ctx, bpf_htons(ETH_P_8021Q), tag);
}

/* The checksum of the TCP header at byte `tcp` of the frame follows a word; not where it is partial, and
 * covers the pseudo header only. */
static __always_inline void follow_tcp(CONTEXT *ctx, u32 tcp, void *header, u16 old, u16 new)
{
	bpf_l4_csum_replace(ctx, tcp + 16, old, new, 2);
}

/* ---- ICMP errors about packets whose checksum the kernel is to complete ------------------------
 *
 * It does that as the error leaves, in what is quoted, which has to go on to that field.
 */

/* Where the upper layer's checksum is, from that header on. 0: nobody knows. */
static __always_inline u32 upper_checksum(u8 protocol)
{
	return protocol == 6 ? 16 : protocol == 17 ? 6 : 0;
}

/* Bytes of a packet that an error about it quotes: of TCP that is to be completed the whole header. */
static __always_inline u32 quote_upper(CONTEXT *ctx, void *ip)
{
	u32 header = (load8(ip, 0) & 15) * 4, extent = bpf_ntohs(load16(ip, 2));
	u32 upper = ctx->PARTIAL && load8(ip, 9) == 6 ? 20 : 8;

	return extent < header + upper ? extent : header + upper;
}

/* The checksum at byte `field` covers `quoted` bytes from the IP header at byte `at` on. What the kernel is to
 * complete of them sums up to the complement of what stands in its checksum now. 0: nobody knows where. */
__noinline int cover_partial(CONTEXT *ctx, u32 at, u32 quoted, u32 field)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *ip = packet_at(data, at), *p;
	u32 header, upper;
	u64 sum;

	if (!ctx->PARTIAL)
		return 1;
	if (ip + 20 > end)
		return 0;
	header = load8(ip, 0) >> 4 == 6 ? 40 : (load8(ip, 0) & 15) * 4;
	upper = upper_checksum(load8(ip, 0) >> 4 == 6 ? load8(ip, 6) : load8(ip, 9));
	if (!upper || quoted < header + upper + 2)
		return 0;
	sum = sum_bytes(ctx, at + header, quoted - header);
	p = packet_at(data, at + header + upper);
	if (p + 2 > end)
		return 0;
	sum = (u64)fold(sum) + (u16)~load16(p, 0);
	p = packet_at(data, field);
	if (p + 2 > end)
		return 0;
	checksum_follow(p, sum);
	return 1;
}
