// For bench/steering.py: sends frames of 16 services, and counts what becomes of them.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include "live_frames.h"

#define SERVICES 16
#define TEID 96 // its byte in the frame: Ethernet, IPv4, UDP, VXLAN, Ethernet, IPv4, UDP, GTP-U's first word
#define HEAD 128

struct setting {
	struct pace pace;
	__u8 head[HEAD]; // a frame that was sent back is sent again: its addresses are others
};
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __uint(map_flags, BPF_F_MMAPABLE);
	 __type(key, __u32); __type(value, struct setting); } settings SEC(".maps");
// 0 to 15: services that reached the stack; 16: frames that were sent on.
struct { __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __uint(max_entries, SERVICES + 1);
	 __type(key, __u32); __type(value, __u64); } counts SEC(".maps");

static __always_inline void count(__u32 which)
{
	__u64 *found = bpf_map_lookup_elem(&counts, &which);
	if (found)
		++*found;
}

SEC("xdp") int generate(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct setting *s = bpf_map_lookup_elem(&settings, &zero);
	if (!s)
		return XDP_ABORTED;
	if (!is_due(&s->pace))
		return XDP_DROP;
	if (bpf_xdp_store_bytes(ctx, 0, s->head, HEAD))
		return XDP_ABORTED;
	__u32 teid = bpf_htonl(s->pace.sent++ % SERVICES);
	bpf_xdp_store_bytes(ctx, TEID, &teid, 4);
	return bpf_redirect(s->pace.interface, 0);
}

SEC("xdp") int sent_on(struct xdp_md *ctx)
{
	count(SERVICES);
	return XDP_DROP;
}

SEC("tc") int accepted(struct __sk_buff *skb)
{
	__u32 teid;
	if (!bpf_skb_load_bytes(skb, TEID, &teid, 4) && bpf_ntohl(teid) < SERVICES)
		count(bpf_ntohl(teid));
	return TC_ACT_OK;
}

char _license[] SEC("license") = "GPL";
