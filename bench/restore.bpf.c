/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Puts the packet back before every run, so that a program that changes its packet can be timed.
 *
 * BPF_PROG_TEST_RUN with repeat N hands the SAME buffer to all N runs: a decapsulator sees its own
 * output from the second on, and "costs" a fraction. `restore` is what is run instead: it puts head,
 * tail, metadata and the leading bytes back, draws new values for the varied fields, and tail-calls
 * slot 0, which holds the program under test or `stub`. What is done here does not depend on which.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define COPY_MOST 256

/* A big-endian field at `offset`: base + step * draw in [0, count). Size 2 or 4; 0: none. */
struct vary {
	__u32 offset, size, base, count, step;
};

struct setting {
	__u64 origin; /* address of the packet in this test run; 0: not known yet */
	__u64 scratch;
	__u64 random;
	__u32 length;
	__u32 copy; /* leading bytes to put back */
	struct vary vary[2];
	__u8 frame[COPY_MOST];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct setting);
} settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} target SEC(".maps");

static __always_inline void put(struct xdp_md *ctx, __u64 random, volatile struct vary *v)
{
	/* the high half of the draw, scaled to [0, count) without a division */
	__u32 x = v->base + v->step * (__u32)(((random >> 32) * v->count) >> 32);

	x = bpf_htonl(v->size == 2 ? x << 16 : x);
	if (v->size == 2)
		bpf_xdp_store_bytes(ctx, v->offset, &x, 2);
	else if (v->size == 4)
		bpf_xdp_store_bytes(ctx, v->offset, &x, 4);
}

SEC("xdp")
int restore(struct xdp_md *ctx)
{
	__u32 zero = 0, copy;
	struct setting *map = bpf_map_lookup_elem(&settings, &zero);
	volatile struct setting *s = map;
	__u64 at;

	if (!s)
		return XDP_ABORTED;
	copy = ((s->copy - 1) & (COPY_MOST - 1)) + 1;
	bpf_xdp_adjust_meta(ctx, (int)((long)ctx->data - (long)ctx->data_meta));
	s->scratch = (__u64)(long)ctx->data; /* through a map: it comes back a number */
	at = s->scratch;
	if (!s->origin)
		s->origin = at; /* the first run: the packet is untouched */
	bpf_xdp_adjust_head(ctx, (int)(s->origin - at));
	bpf_xdp_adjust_tail(ctx, (int)(s->length - (__u32)bpf_xdp_get_buff_len(ctx)));
	bpf_xdp_store_bytes(ctx, 0, map->frame, copy);
	/* one draw (Knuth's MMIX generator) for both fields, so that together they name one flow */
	s->random = s->random * 6364136223846793005ULL + 1442695040888963407ULL;
	put(ctx, s->random, &s->vary[0]);
	put(ctx, s->random, &s->vary[1]);
	bpf_tail_call(ctx, &target, 0);
	return XDP_ABORTED;
}

SEC("xdp")
int stub(struct xdp_md *ctx)
{
	return XDP_PASS;
}

/* Eats its packet, and takes only one that begins with 0xAB, which it destroys: if the packet were
 * not put back, only the first run would end in XDP_TX. */
SEC("xdp")
int eater(struct xdp_md *ctx)
{
	__u8 *p = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (p + 1 > end || *p != 0xAB)
		return XDP_DROP;
	*p = 0;
	return bpf_xdp_adjust_head(ctx, 32) ? XDP_ABORTED : XDP_TX;
}

char _license[] SEC("license") = "Dual BSD/GPL";
