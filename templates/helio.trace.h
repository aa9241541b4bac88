/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a traced program has besides: see lang/contract/trace/schema.py. Included behind helio.bpf.h, with
 * TRACE_NODES, TRACE_SNAP, TRACE_REST, TRACE_WORDS, TRACE_TESTS, TRACE_TERMS, TRACE_EVENT and
 * TRACE_EGRESS defined.
 */
#ifndef HELIO_TRACE_H
#define HELIO_TRACE_H

/* Does a field lie in `low` to `low + span`, under `mask`? Of one of more than 8 bytes this is the
 * lower half, and the upper one, under `high_mask`, must be `high`. */
struct trace_test {
	u16 node;
	u16 at; /* the byte of the header where the field starts, with what shares its first one */
	u8 size; /* in bytes: 1 to 16 */
	u8 otherwise; /* or does it not? */
	u16 reserved;
	u64 mask, low, span;
	u64 high_mask, high;
};

/* Which packets are traced; written by the runtime. */
struct trace_control {
	u64 until; /* ns of CLOCK_MONOTONIC: after that none, since the reader is gone */
	u32 port; /* those that arrive by this one; 0: by any */
	u32 sample; /* one of this many */
	u32 tests;
	u32 terms; /* one of these must hold; 0: every packet will do */
	struct {
		u32 asked; /* a bit for each test that it asks for */
		u32 wanted; /* what these are to come to */
	} term[TRACE_TERMS];
	struct trace_test test[TRACE_TESTS];
	u32 whole; /* the frame is wanted as far as there is room for it, of so many packets at most: */
	u32 most; /* `taken` grows up to this one */
	u32 taken;
	u32 reserved;
};

/* A packet's record. What stands behind the last used word is left out, unless the frame is wanted whole. */
struct trace {
	u64 time; /* ns of CLOCK_MONOTONIC */
	u32 length; /* on arrival */
	u32 port; /* of arrival */
	u32 action; /* enum xdp_action */
	u32 used; /* words; those for which there is no room count, too */
	u32 on; /* is this packet traced? */
	u32 kept; /* so many bytes of the frame, where it is wanted whole; what `frame` has no room for is in `rest` */
	u16 node[TRACE_NODES]; /* the byte where it starts, plus one; 0 for absent */
	u8 frame[TRACE_SNAP];
	u64 word[TRACE_WORDS + 4];
	u8 rest[TRACE_REST]; /* of the frame, behind `frame` */
};

ARRAY_MAP(trace_control, struct trace_control, 1, BPF_F_MMAPABLE);
PERCPU_MAP(trace_records, struct trace, 1);
PERCPU_MAP(trace_lost, u64, 1); /* records for which the ring had no room */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} trace_ring SEC(".maps");

static __always_inline struct trace *trace_of(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&trace_records, &zero);
}

static __always_inline struct trace_control *trace_control_of(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&trace_control, &zero);
}

static __always_inline void trace_lose(void)
{
	u32 zero = 0;
	u64 *lost = bpf_map_lookup_elem(&trace_lost, &zero);

	if (lost)
		*lost += 1;
}

/* Is a packet that arrives by this port, now, to be traced? */
static __always_inline int trace_wanted(u64 now, u32 port)
{
	struct trace_control *c = trace_control_of();

	if (!c || now > *(volatile u64 *)&c->until || (c->port && c->port != port))
		return 0;
	if (c->sample > 1 && bpf_get_prandom_u32() % c->sample)
		return 0;
	if (c->whole && (int)(*(volatile u32 *)&c->most - *(volatile u32 *)&c->taken) <= 0) {
		trace_lose();
		return 0;
	}
	/* who reads too slowly costs packets nothing */
	if (bpf_ringbuf_query(&trace_ring, BPF_RB_AVAIL_DATA) > (1 << 20) - 2 * sizeof(struct trace)) {
		trace_lose();
		return 0;
	}
	return 1;
}

/* A packet comes in. */
static __always_inline struct trace *trace_begin(CONTEXT *ctx)
{
	struct trace *t = trace_of();

	if (!t)
		return 0;
	t->time = bpf_ktime_get_ns();
	t->length = frame_length(ctx);
	t->port = arrival_port(ctx);
	t->used = t->kept = 0;
	t->on = trace_wanted(t->time, t->port);
	__builtin_memset(t->node, 0, sizeof(t->node));
	return t;
}

/* Up to four words of a step. */
__noinline int trace_step(u32 words, u64 a, u64 b, u64 c, u64 d)
{
	struct trace *t = trace_of();
	u32 at;

	if (!t || !t->on)
		return 0;
	at = t->used;
	t->used = at + words;
	barrier_var(at);
	if (at >= TRACE_WORDS)
		return 0;
	t->word[at] = a;
	t->word[at + 1] = b;
	t->word[at + 2] = c;
	t->word[at + 3] = d;
	return 0;
}

/* What a test of the filter comes to: 0 or 1. A packet that lacks the node passes none. */
__noinline u32 trace_test(CONTEXT *ctx, u32 number)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *p;
	struct trace_control *c = trace_control_of();
	struct trace *t = trace_of();
	struct trace_test *test;
	u64 high = 0, low = 0;
	u32 node, holds;

	barrier_var(number);
	if (!c || !t || number >= TRACE_TESTS)
		return 0;
	test = &c->test[number];
	node = test->node;
	barrier_var(node);
	if (node >= TRACE_NODES || !t->node[node])
		return 0;
	p = packet_at(data, t->node[node] - 1 + test->at);
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 16; i++, p++) {
		if (i >= test->size)
			break;
		if (p + 1 > end)
			return 0;
		high = high << 8 | low >> 56;
		low = low << 8 | load8(p, 0);
	}
	holds = (high & test->high_mask) == test->high && (low & test->mask) - test->low <= test->span;
	return holds != test->otherwise;
}

/* Does the packet, parsed, pass the filter? */
__noinline int trace_passes(CONTEXT *ctx)
{
	struct trace_control *c = trace_control_of();
	u32 found = 0;

	if (!c)
		return 0;
	if (!c->terms)
		return 1;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < TRACE_TESTS; i++) {
		if (i >= c->tests)
			break;
		found |= trace_test(ctx, i) << i;
	}
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < TRACE_TERMS; i++) {
		if (i >= c->terms)
			break;
		if ((found & c->term[i].asked) == c->term[i].wanted)
			return 1;
	}
	return 0;
}

/* Keeps what `frame` has no room for, of a frame that goes on behind it. */
__noinline int trace_rest(CONTEXT *ctx)
{
	struct trace *t = trace_of();
#ifdef HELIO_TC
	u32 last = ctx->len - TRACE_SNAP - 1;

	barrier_var(last);
	if (!t || last >= TRACE_REST)
		return 0;
	if (!bpf_skb_load_bytes(ctx, TRACE_SNAP, t->rest, last + 1))
		t->kept = TRACE_SNAP + last + 1;
#else
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u32 at = 0;

	if (!t)
		return 0;
#pragma clang loop unroll(disable)
	for (; at < TRACE_REST; at += 8) {
		void *p = packet_at(data, TRACE_SNAP + at);

		if (p + 8 > end)
			break;
		store64(t->rest, at, load64(p, 0));
	}
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 7 && at < TRACE_REST; i++, at++) {
		void *p = packet_at(data, TRACE_SNAP + at);

		if (p + 1 > end)
			break;
		store8(t->rest, at, load8(p, 0));
	}
	t->kept = TRACE_SNAP + at;
#endif
	return 0;
}

/* The parser is done: a packet that the filter does not pass is not traced further, of others the frame is
 * kept as it came. */
__noinline int trace_parsed(CONTEXT *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct trace_control *c = trace_control_of();
	struct trace *t = trace_of();
	u32 at = 0;

	if (!t || !t->on)
		return 0;
	if (!trace_passes(ctx)) {
		t->on = 0;
		return 0;
	}
#pragma clang loop unroll(disable)
	for (; at < TRACE_SNAP; at += 8) {
		void *p = packet_at(data, at);

		if (p + 8 > end)
			break;
		store64(t->frame, at, load64(p, 0));
	}
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 7 && at < TRACE_SNAP; i++, at++) {
		void *p = packet_at(data, at);

		if (p + 1 > end)
			break;
		store8(t->frame, at, load8(p, 0));
	}
	if (!c || !c->whole)
		return 0;
	__sync_fetch_and_add(&c->taken, 1);
	t->kept = at;
	if (at == TRACE_SNAP)
		trace_rest(ctx);
	return 0;
}

/* Tells of the rule of a slot: its sequence, its id and its priority stand in its image, see
 * runtime/rules/images.py. */
static __always_inline int trace_rule(void *images, u32 point, u32 slot)
{
	void *image = bpf_map_lookup_elem(images, &slot);

	if (image)
		trace_step(4, point, load64(image, 0), load64(image, 16), slot);
	return 0;
}

/* The packet has its verdict. */
__noinline int trace_end(u32 action)
{
	struct trace *t = trace_of();
	u32 words, size;

	if (!t || !t->on)
		return 0;
	t->on = 0;
	t->action = action;
	words = t->used;
	barrier_var(words);
	if (words > TRACE_WORDS)
		words = TRACE_WORDS;
	size = t->kept > TRACE_SNAP ? sizeof(*t) : __builtin_offsetof(struct trace, word) + words * 8;
	if (bpf_ringbuf_output(&trace_ring, t, size, 0))
		trace_lose();
	return 0;
}

#endif
