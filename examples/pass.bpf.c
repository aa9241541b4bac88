/* Lets everything pass. A veth delivers what its peer's XDP program sends back (XDP_TX) at once only
 * where a native XDP program is attached to it too: otherwise it lies until another frame comes. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp") int pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}
