// For bench/stamp.py: sends two kinds of frames, mixed, and counts what comes back.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "live_frames.h"

#define HEAD 128
#define MILLION 1000000

struct setting {
	struct pace pace;
	__u32 share, due_share; // `share`: of a million frames, those of the second kind
	__u8 head[2][HEAD];
};
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __uint(map_flags, BPF_F_MMAPABLE);
	 __type(key, __u32); __type(value, struct setting); } settings SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __uint(max_entries, 1);
	 __type(key, __u32); __type(value, __u64); } counts SEC(".maps");

SEC("xdp") int generate(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct setting *s = bpf_map_lookup_elem(&settings, &zero);
	if (!s)
		return XDP_ABORTED;
	if (!is_due(&s->pace))
		return XDP_DROP;
	s->due_share += s->share;
	int second = s->due_share >= MILLION;
	if (second)
		s->due_share -= MILLION;
	if (bpf_xdp_store_bytes(ctx, 0, s->head[second], HEAD))
		return XDP_ABORTED;
	s->pace.sent++;
	return bpf_redirect(s->pace.interface, 0);
}

SEC("xdp") int count(struct xdp_md *ctx)
{
	__u32 zero = 0;
	__u64 *found = bpf_map_lookup_elem(&counts, &zero);
	if (found)
		++*found;
	return XDP_DROP;
}

char _license[] SEC("license") = "GPL";
