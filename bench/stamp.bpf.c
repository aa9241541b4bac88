// For bench/stamp.py: sends two kinds of frames, mixed, and counts what comes back.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define HEAD 128
#define MILLION 1000000

struct setting {
	__u32 interface, sent, share, due_share; // `share`: of a million frames, those of the second kind
	__u64 due, interval, duration, until;    // ns; a frame is sent when it is due
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
	__u64 now = bpf_ktime_get_ns();
	if (!s->until)
		s->until = now + s->duration;
	if (now < s->due || now > s->until)
		return XDP_DROP;
	// After a long delay it does not catch up.
	s->due = s->due + 1000000 < now ? now + s->interval : s->due + s->interval;
	s->due_share += s->share;
	int second = s->due_share >= MILLION;
	if (second)
		s->due_share -= MILLION;
	if (bpf_xdp_store_bytes(ctx, 0, s->head[second], HEAD))
		return XDP_ABORTED;
	s->sent++;
	return bpf_redirect(s->interface, 0);
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
