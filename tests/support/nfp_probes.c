/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a card takes and what not, a construct a case: compiled with -DCASE_name. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

char _license[] SEC("license") = "Dual BSD/GPL";

#define rol32(w, s) (((w) << (s)) | ((w) >> (32 - (s))))

static __always_inline __u32 jhash3(__u32 a, __u32 b, __u32 c, __u32 seed)
{
	a += 0xdeadbeef + 12 + seed;
	b += 0xdeadbeef + 12 + seed;
	c += 0xdeadbeef + 12 + seed;
	c ^= b; c -= rol32(b, 14);
	a ^= c; a -= rol32(c, 11);
	b ^= a; b -= rol32(a, 25);
	c ^= b; c -= rol32(b, 16);
	a ^= c; a -= rol32(c, 4);
	b ^= a; b -= rol32(a, 14);
	c ^= b; c -= rol32(b, 24);
	return c;
}

#define MAP(name, kind, ktype, vtype, n)		\
	struct {					\
		__uint(type, kind);			\
		__type(key, ktype);			\
		__type(value, vtype);			\
		__uint(max_entries, n);			\
	} name SEC(".maps")

struct v2 { __u32 a, b; };
struct v8 { __u64 a, b; };

#define BODY(...) SEC("xdp") int prog(struct xdp_md *ctx)				\
	{ void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;	\
	  (void)data; (void)end; __VA_ARGS__ }
#define NEED(n) if (data + (n) > end) return XDP_PASS
#define LOOKUP(m, T, keyval) __u32 key = (keyval); T *p = bpf_map_lookup_elem(&m, &key);	\
	if (!p) return XDP_PASS

#if defined(CASE_tail_call)
struct { __uint(type, BPF_MAP_TYPE_PROG_ARRAY); __uint(key_size, 4); __uint(value_size, 4);
	 __uint(max_entries, 2); } jmp SEC(".maps");
BODY(bpf_tail_call(ctx, &jmp, 0); return XDP_PASS;)
#elif defined(CASE_tail_call_helper)	/* the helper with a map that can be offloaded: is it the map or the call? */
MAP(arr, BPF_MAP_TYPE_ARRAY, __u32, __u32, 2);
BODY(bpf_tail_call(ctx, &arr, 0); return XDP_PASS;)
#elif defined(CASE_devmap)
MAP(dm, BPF_MAP_TYPE_DEVMAP, __u32, __u32, 2);
BODY(return bpf_redirect_map(&dm, 0, 0);)
#elif defined(CASE_lru)
MAP(lru, BPF_MAP_TYPE_LRU_HASH, __u32, __u32, 2);
BODY(LOOKUP(lru, __u32, 0); return XDP_PASS;)
#elif defined(CASE_percpu)
MAP(pc, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, __u64, 2);
BODY(LOOKUP(pc, __u64, 0); return XDP_PASS;)
#elif defined(CASE_lpm)
struct { __uint(type, BPF_MAP_TYPE_LPM_TRIE); __type(key, struct v2); __type(value, __u32);
	 __uint(max_entries, 2); __uint(map_flags, BPF_F_NO_PREALLOC); } lpm SEC(".maps");
BODY(struct v2 k = {}; return bpf_map_lookup_elem(&lpm, &k) ? XDP_TX : XDP_PASS;)
#elif defined(CASE_map_in_map)
struct inner { __uint(type, BPF_MAP_TYPE_ARRAY); __type(key, __u32); __type(value, __u32);
	       __uint(max_entries, 2); };
struct { __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS); __type(key, __u32); __uint(max_entries, 2);
	 __array(values, struct inner); } outer SEC(".maps");
BODY(__u32 k = 0; return bpf_map_lookup_elem(&outer, &k) ? XDP_TX : XDP_PASS;)
#elif defined(CASE_map_flags)
struct { __uint(type, BPF_MAP_TYPE_HASH); __type(key, __u32); __type(value, __u32);
	 __uint(max_entries, 2); __uint(map_flags, BPF_F_NO_PREALLOC); } m SEC(".maps");
BODY(LOOKUP(m, __u32, 0); return XDP_PASS;)
#elif defined(CASE_entries_3)
MAP(m, BPF_MAP_TYPE_HASH, __u32, __u32, 3);
BODY(LOOKUP(m, __u32, 0); return XDP_PASS;)
#elif defined(CASE_entries_2048001)
MAP(m, BPF_MAP_TYPE_HASH, __u32, __u32, 2048001);
BODY(LOOKUP(m, __u32, 0); return XDP_PASS;)
#elif defined(CASE_elem_72)
struct k40 { __u32 w[10]; };
struct v32 { __u32 w[8]; };
MAP(m, BPF_MAP_TYPE_HASH, struct k40, struct v32, 2);
BODY(struct k40 k = {}; return bpf_map_lookup_elem(&m, &k) ? XDP_TX : XDP_PASS;)
#elif defined(CASE_elem_64)
struct k40 { __u32 w[10]; };
struct v24 { __u32 w[6]; };
MAP(m, BPF_MAP_TYPE_HASH, struct k40, struct v24, 2);
BODY(struct k40 k = {}; return bpf_map_lookup_elem(&m, &k) ? XDP_TX : XDP_PASS;)
#elif defined(CASE_rodata)
static const volatile __u32 knob = 7;
BODY(return knob == 3 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_bss)
__u32 counter;
BODY(counter++; return XDP_PASS;)
#elif defined(CASE_printk)
BODY(bpf_printk("x"); return XDP_PASS;)
#elif defined(CASE_ktime)
BODY(return bpf_ktime_get_ns() & 1 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_redirect)
BODY(return bpf_redirect(1, 0);)
#elif defined(CASE_csum_diff)
BODY(__u32 x = 1; return bpf_csum_diff(0, 0, &x, 4, 0) & 1 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_prandom)
BODY(return bpf_get_prandom_u32() & 1 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_read_rxq)
BODY(return ctx->rx_queue_index ? XDP_TX : XDP_PASS;)
#elif defined(CASE_read_ifindex)
BODY(return ctx->ingress_ifindex ? XDP_TX : XDP_PASS;)
#elif defined(CASE_read_meta)
BODY(void *meta = (void *)(long)ctx->data_meta; if (meta + 4 > data) return XDP_PASS; return *(__u32 *)meta ? XDP_TX : XDP_PASS;)
#elif defined(CASE_write_rxq)
BODY(ctx->rx_queue_index = 3; return XDP_PASS;)
#elif defined(CASE_ret_redirect)
BODY(return XDP_REDIRECT;)
#elif defined(CASE_ret_99)
BODY(return 99;)
#elif defined(CASE_map_store)
MAP(m, BPF_MAP_TYPE_ARRAY, __u32, struct v2, 2);
BODY(LOOKUP(m, struct v2, 0); p->b = 5; return XDP_PASS;)
#elif defined(CASE_pkt_key)
MAP(m, BPF_MAP_TYPE_HASH, __u32, __u32, 2);
BODY(NEED(34); return bpf_map_lookup_elem(&m, data + 26) ? XDP_TX : XDP_PASS;)
#elif defined(CASE_value_key)
MAP(m, BPF_MAP_TYPE_ARRAY, __u32, __u32, 2);
BODY(LOOKUP(m, __u32, 0); return bpf_map_lookup_elem(&m, p) ? XDP_TX : XDP_PASS;)
#elif defined(CASE_unaligned_key)
MAP(m, BPF_MAP_TYPE_HASH, __u16, __u32, 2);
BODY(NEED(34); __u16 k[4] = {}; asm volatile("" : "+m"(k)); return bpf_map_lookup_elem(&m, &k[1]) ? XDP_TX : XDP_PASS;)
#elif defined(CASE_map_update)
MAP(m, BPF_MAP_TYPE_HASH, __u32, __u32, 2);
BODY(__u32 k = 1, v = 2; bpf_map_update_elem(&m, &k, &v, 0); return XDP_PASS;)
#elif defined(CASE_map_delete)
MAP(m, BPF_MAP_TYPE_HASH, __u32, __u32, 2);
BODY(__u32 k = 1; bpf_map_delete_elem(&m, &k); return XDP_PASS;)
#elif defined(CASE_xadd32)
MAP(m, BPF_MAP_TYPE_ARRAY, __u32, struct v2, 2);
BODY(LOOKUP(m, struct v2, 0); __sync_fetch_and_add(&p->b, 1); return XDP_PASS;)
#elif defined(CASE_xadd64)
MAP(m, BPF_MAP_TYPE_ARRAY, __u32, struct v8, 2);
BODY(LOOKUP(m, struct v8, 0); __sync_fetch_and_add(&p->b, end - data); return XDP_PASS;)
#elif defined(CASE_xadd_fetch)
MAP(m, BPF_MAP_TYPE_ARRAY, __u32, struct v8, 2);
BODY(LOOKUP(m, struct v8, 0); return __sync_fetch_and_add(&p->b, 1) == 7 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_atomic_or)
MAP(m, BPF_MAP_TYPE_ARRAY, __u32, struct v8, 2);
BODY(LOOKUP(m, struct v8, 0); __sync_fetch_and_or(&p->b, 1); return XDP_PASS;)
#elif defined(CASE_xadd_stack)
BODY(__u64 x = 0; __sync_fetch_and_add(&x, end - data); asm volatile("" : "+m"(x)); return x ? XDP_TX : XDP_PASS;)
#elif defined(CASE_count_either)	/* an instruction may touch values of two maps */
MAP(m, BPF_MAP_TYPE_ARRAY, __u32, struct v8, 2);
MAP(n, BPF_MAP_TYPE_HASH, __u32, struct v8, 2);
BODY(NEED(14); __u32 key = 0; struct v8 *p;
     if (*(__u8 *)data) p = bpf_map_lookup_elem(&m, &key); else p = bpf_map_lookup_elem(&n, &key);
     if (!p) return XDP_PASS;
     __sync_fetch_and_add(&p->b, 1); return XDP_DROP;)
#elif defined(CASE_look_in_either)
MAP(m, BPF_MAP_TYPE_ARRAY, __u32, struct v8, 2);
MAP(n, BPF_MAP_TYPE_HASH, __u32, struct v8, 2);
BODY(NEED(14); __u32 key = 0; void *table = &m;
     if (*(__u8 *)data) table = &n;
     asm volatile("" : "+r"(table));
     return bpf_map_lookup_elem(table, &key) ? XDP_DROP : XDP_PASS;)
#elif defined(CASE_xadd_then_read)
MAP(m, BPF_MAP_TYPE_ARRAY, __u32, struct v8, 2);
BODY(LOOKUP(m, struct v8, 0); __sync_fetch_and_add(&p->b, 1); return p->b > 9 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_mul_u32)
BODY(NEED(34); __u32 x = *(__u16 *)(data + 12); __u32 y = *(__u16 *)(data + 14); return x * y == 77 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_mul_swapped)	/* the verifier forgets what it knew of what is swapped */
BODY(NEED(14); struct ethhdr *e = data; __u32 a = bpf_ntohs(e->h_proto), b = e->h_dest[0];
     return a * b == 77 ? XDP_DROP : XDP_PASS;)
#elif defined(CASE_verdict_on_stack)
BODY(NEED(14); volatile int verdict = *(__u8 *)data ? XDP_DROP : XDP_PASS; return verdict;)
#elif defined(CASE_mul_u64)
BODY(NEED(34); __u64 x = *(__u64 *)(data + 12); return x * 0x12345 == 77 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_div_const)
BODY(NEED(34); __u32 x = *(__u32 *)(data + 12); return x / 10 == 77 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_mod_const)
BODY(NEED(34); __u32 x = *(__u32 *)(data + 12); return x % 10 == 7 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_div_var)
BODY(NEED(34); __u32 x = *(__u32 *)(data + 12), y = *(__u8 *)(data + 14); return x / (y | 1) == 7 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_shift_var64)
BODY(NEED(34); __u64 x = *(__u64 *)(data + 12); __u32 s = *(__u8 *)(data + 14) & 63; return x << s == 7 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_bswap64)
BODY(NEED(34); return __builtin_bswap64(*(__u64 *)(data + 12)) == 7 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_stack_var)
BODY(NEED(34); volatile __u32 a[4]; a[0] = 1; a[1] = 2; a[2] = 3; a[3] = 4; return a[*(__u8 *)data & 3] == 3 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_const_initialiser)	/* clang puts it in .rodata.cst16 */
BODY(NEED(34); __u32 a[4] = {1, 2, 3, 4}; asm volatile("" : "+m"(a)); return a[*(__u8 *)data & 3] == 3 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_value_var)
struct tab { __u8 x[16]; };
MAP(m, BPF_MAP_TYPE_ARRAY, __u32, struct tab, 2);
BODY(NEED(34); __u32 i = *(__u8 *)data & 15; LOOKUP(m, struct tab, 0); return p->x[i] == 3 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_pkt_var)
BODY(NEED(34); __u32 l = (*(__u8 *)(data + 14) & 15) * 4; void *q = data + 14 + l; if (q + 4 > end) return XDP_PASS; return *(__u32 *)q ? XDP_TX : XDP_PASS;)
#elif defined(CASE_subprog)
static __noinline int f(void *data, void *end, int x) { if (data + 34 > end) return x; return *(__u8 *)(data + 20) + x; }
BODY(return f(data, end, 1) + f(data, end, 3) > 5 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_stack_448)
BODY(__u32 a[110]; a[0] = bpf_get_prandom_u32(); asm volatile("" : "+m"(a)); return a[0] == 3 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_stack_subprog)	/* 248 + 256: fits the host, not the NFP, which adds the return address and rounds each to 64 */
static __noinline int f(int x) { __u32 a[64]; a[0] = x; asm volatile("" : "+m"(a)); return a[0]; }
BODY(__u32 a[62]; a[0] = 3; asm volatile("" : "+m"(a)); return f(a[0]) == 3 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_loop)
BODY(__u32 s = 0; 
	for (int i = 0; i < 40; i++) { asm volatile("" : "+r"(i)); if (data + i + 1 > end) break; s += *(__u8 *)(data + i); }
	return s == 7 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_adjust_head)
BODY(if (bpf_xdp_adjust_head(ctx, -50)) return XDP_DROP; return XDP_TX;)
#elif defined(CASE_adjust_tail)
BODY(if (bpf_xdp_adjust_tail(ctx, -4)) return XDP_DROP; return XDP_TX;)
#elif defined(CASE_adjust_meta)
BODY(if (bpf_xdp_adjust_meta(ctx, -4)) return XDP_DROP; return XDP_TX;)
#elif defined(CASE_pkt_1900)
BODY(NEED(1900); return *(__u8 *)(data + 1899) ? XDP_TX : XDP_PASS;)
#elif defined(CASE_ptr_mixed)
MAP(m, BPF_MAP_TYPE_ARRAY, __u32, struct v2, 2);
BODY(NEED(34); LOOKUP(m, struct v2, 0);
	void *q = p; if (*(__u8 *)data) q = data; asm volatile("" : "+r"(q));
	return *(__u32 *)q == 3 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_frags)
SEC("xdp.frags") int prog(struct xdp_md *ctx) { return XDP_PASS; }
#elif defined(CASE_perf_event)
struct { __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY); __uint(key_size, 4); __uint(value_size, 4); } ev SEC(".maps");
BODY(__u32 x = 3; bpf_perf_event_output(ctx, &ev, BPF_F_CURRENT_CPU, &x, 4); return XDP_PASS;)
#elif defined(CASE_too_long)
/* ~ 40 jhash rounds: about 4000 NFP instructions */
BODY(NEED(34); __u32 a = *(__u32 *)data, b = *(__u32 *)(data + 4), c = *(__u32 *)(data + 8);
	_Pragma("unroll") for (int i = 0; i < 60; i++) { c = jhash3(a, b, c, i); a ^= c; b += c; }
	return c == 7 ? XDP_TX : XDP_PASS;)
#elif defined(CASE_pkt_write)
BODY(NEED(34); *(__u32 *)(data + 4) = *(__u32 *)(data + 12); *(__u8 *)(data + 9) = 7; return XDP_TX;)
#elif defined(CASE_memcpy_map_to_pkt)
struct mac { __u8 x[16]; };
MAP(m, BPF_MAP_TYPE_ARRAY, __u32, struct mac, 2);
BODY(NEED(34); LOOKUP(m, struct mac, 0); __builtin_memcpy(data, p, 16); return XDP_TX;)
#else
#error "no case"
#endif
