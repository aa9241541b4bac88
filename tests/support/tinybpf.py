"""Small BPF programs for tests: C text, its object file's bytes, packets and verdicts."""

from __future__ import annotations

import shutil
import struct
import subprocess
from functools import cache

PREAMBLE = """
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
char _license[] SEC("license") = "GPL";
"""
SMALL = """
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 4); __uint(map_flags, 1024);
         __type(key, __u32); __type(value, __u64); } cells SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 16);
         __type(key, __u32); __type(value, __u32); } rules SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __uint(max_entries, 2);
         __type(key, __u32); __type(value, __u32); } counters SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_PROG_ARRAY); __uint(max_entries, 2);
         __type(key, __u32); __type(value, __u32); } stages SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_DEVMAP); __uint(max_entries, 2);
         __type(key, __u32); __type(value, __u32); } ports SEC(".maps");

SEC("xdp") int entry(struct xdp_md *ctx)
{
    __u32 zero = 0;
    __u64 *cell = bpf_map_lookup_elem(&cells, &zero);
    __u32 *count = bpf_map_lookup_elem(&counters, &zero);
    if (count) *count += 1;
    bpf_tail_call(ctx, &stages, 0);
    return cell && *cell == ~0ull ? XDP_DROP : ctx->ingress_ifindex == 1 ? XDP_PASS : XDP_TX;
}
SEC("xdp") int longer(struct xdp_md *ctx)
{
    return bpf_xdp_adjust_head(ctx, -4) ? XDP_ABORTED : XDP_TX;
}
SEC("xdp") int tagged(struct xdp_md *ctx)
{
    if (bpf_xdp_adjust_meta(ctx, -4)) return XDP_ABORTED;
    __u32 *meta = (void *)(long)ctx->data_meta;
    if ((void *)(meta + 1) > (void *)(long)ctx->data) return XDP_ABORTED;
    *meta = 0x01020304;
    return XDP_PASS;
}
SEC("xdp") int dropper(struct xdp_md *ctx) { return XDP_DROP; }
SEC("xdp") int deep(struct xdp_md *ctx)
{
    volatile __u64 room[20] = {};
    return room[ctx->rx_queue_index & 15] ? XDP_DROP : XDP_PASS;
}
SEC("xdp") int a_name_longer_than_the_kernel_keeps(struct xdp_md *ctx)
{
    __u32 *rule = bpf_map_lookup_elem(&rules, &(__u32){7});
    return rule ? XDP_PASS : bpf_redirect_map(&ports, 0, XDP_DROP);
}
"""
PACKET = bytes(range(64))
DROP, PASS, TX = 1, 2, 3  # enum xdp_action
ALL_ONES = b"\xff" * 8
_INCLUDE = "/usr/include/x86_64-linux-gnu"


@cache
def build(source: str) -> bytes:
    """The ELF object of `source`, which follows PREAMBLE. Fails where clang is not installed."""
    clang = shutil.which("clang-16") or shutil.which("clang")
    if clang is None:
        raise RuntimeError("these tests compile C: apt-get install clang-16")
    target = ["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-fno-strict-aliasing", "-I", _INCLUDE]
    done = subprocess.run(
        [clang, *target, "-x", "c", "-c", "-", "-o", "-"],
        input=(PREAMBLE + source).encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    return done.stdout


def word(number: int) -> bytes:
    """A 4-byte key or value."""
    return struct.pack("<I", number)
