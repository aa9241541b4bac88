/* Lets everything pass. A veth delivers what its peer's XDP program sends back (XDP_TX) at once only
 * where a native XDP program is attached to it too: otherwise it lies until another frame comes.
 * Needs no headers: clang-16 -O2 -target bpf -c examples/pass.bpf.c -o pass.o */
enum { XDP_PASS = 2 }; /* linux/bpf.h */

__attribute__((section("xdp"))) int pass(void *frame)
{
	return XDP_PASS;
}
