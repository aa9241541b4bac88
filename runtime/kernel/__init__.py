"""The way into the kernel: libbpf, the owners of what it hands out, and netlink."""
