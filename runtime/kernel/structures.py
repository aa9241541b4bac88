"""libbpf 1.x and the kernel's bpf(2) as C declares them: structures, and functions."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

_C: dict[str, Any] = {
    "int": c_int,
    "bool": ctypes.c_bool,
    "u32": c_uint32,
    "u64": c_uint64,
    "size_t": c_size_t,
    "char*": c_char_p,
    "void*": c_void_p,
}


def _layout(declarations: str) -> list[tuple[str, Any]]:
    """Fields from `u32 type, id; char[16] name`, as in C with the length beside the type."""
    fields = []
    for declaration in declarations.split(";"):
        kind, names = declaration.split(maxsplit=1)
        base, _, length = kind.rstrip("]").partition("[")
        one = ctypes.c_char if base == "char" else _C[base]
        field = one * int(length) if length else one
        fields += [(name.strip(), field) for name in names.split(",")]
    return fields


class OpenOpts(ctypes.Structure):
    _fields_ = _layout(
        "size_t sz; char* object_name; bool relaxed_maps; char* pin_root_path; u32 _removed;"
        "char* kconfig, btf_custom_path; void* kernel_log_buf; size_t kernel_log_size;"
        "u32 kernel_log_level"
    )


class MapCreateOpts(ctypes.Structure):
    _fields_ = _layout(
        "size_t sz; u32 btf_fd, btf_key_type_id, btf_value_type_id, btf_vmlinux_value_type_id;"
        "u32 inner_map_fd, map_flags; u64 map_extra; u32 numa_node, map_ifindex"
    )


class BatchOpts(ctypes.Structure):
    _fields_ = _layout("size_t sz; u64 elem_flags, flags")


class LinkCreateOpts(ctypes.Structure):
    _fields_ = _layout("size_t sz; u32 flags; u64[6] _rest")


class ProgLoadOpts(ctypes.Structure):
    """The first fields of it."""

    _fields_ = _layout(
        "size_t sz; int attempts, expected_attach_type;"
        "u32 prog_btf_fd, prog_flags, prog_ifindex, kern_version"
    )


class LinkUpdateOpts(ctypes.Structure):
    _fields_ = _layout("size_t sz; u32 flags, old_prog_fd")


class RunOpts(ctypes.Structure):
    _fields_ = _layout(
        "size_t sz; char* data_in; void* data_out; u32 data_size_in, data_size_out;"
        "void* ctx_in, ctx_out; u32 ctx_size_in, ctx_size_out, retval; int repeat;"
        "u32 duration, flags, cpu, batch_size"
    )


class XdpMd(ctypes.Structure):
    """`struct xdp_md`; in a test run the data fields are offsets from the start of the buffer."""

    _fields_ = _layout("u32 data, data_end, data_meta, ingress_ifindex, rx_queue, egress_ifindex")


class ProgInfo(ctypes.Structure):
    _fields_ = _layout(
        "u32 type, id; u32[2] tag; u32 jited_prog_len, xlated_prog_len;"
        "u64 jited_prog_insns, xlated_prog_insns, load_time; u32 created_by_uid, nr_map_ids;"
        "u64 map_ids; char[16] name; u32 ifindex, gpl_compatible; u64[13] _unused;"
        "u64 run_time_ns, run_cnt, recursion_misses; u32 verified_insns, attach_btf_obj_id;"
        "u32 attach_btf_id, _pad"
    )


class MapInfo(ctypes.Structure):
    _fields_ = _layout(
        "u32 type, id, key_size, value_size, max_entries, map_flags; char[16] name;"
        "u32 ifindex; u32[11] _rest"
    )


class LinkInfo(ctypes.Structure):
    _fields_ = _layout("u32 type, id, prog_id, _pad, ifindex; u32[7] _rest")


_PTR, _STR = c_void_p, c_char_p
# Result, then arguments.
GENERAL: dict[str, tuple[Any, ...]] = {
    "libbpf_set_print": (_PTR, _PTR),
    "libbpf_num_possible_cpus": (c_int,),
    "bpf_object__open_mem": (_PTR, _STR, c_size_t, POINTER(OpenOpts)),
    "bpf_object__load": (c_int, _PTR),
    "bpf_object__close": (None, _PTR),
    "bpf_object__next_program": (_PTR, _PTR, _PTR),
    "bpf_object__next_map": (_PTR, _PTR, _PTR),
    "bpf_program__name": (_STR, _PTR),
    "bpf_program__fd": (c_int, _PTR),
    "bpf_program__set_autoload": (c_int, _PTR, ctypes.c_bool),
    "bpf_program__set_ifindex": (None, _PTR, c_uint32),
    "bpf_map__set_ifindex": (c_int, _PTR, c_uint32),
    "bpf_program__set_log_level": (c_int, _PTR, c_uint32),
    "bpf_program__set_log_buf": (c_int, _PTR, _PTR, c_size_t),
    "bpf_map__name": (_STR, _PTR),
    "bpf_map__fd": (c_int, _PTR),
    "bpf_map__type": (c_int, _PTR),
    "bpf_map__key_size": (c_uint32, _PTR),
    "bpf_map__value_size": (c_uint32, _PTR),
    "bpf_map__max_entries": (c_uint32, _PTR),
    "bpf_map__map_flags": (c_uint32, _PTR),
    "bpf_map__set_max_entries": (c_int, _PTR, c_uint32),
    "bpf_map__reuse_fd": (c_int, _PTR, c_int),
    "bpf_map__set_inner_map_fd": (c_int, _PTR, c_int),
    "bpf_map_create": (c_int, c_int, _STR, c_uint32, c_uint32, c_uint32, POINTER(MapCreateOpts)),
    "bpf_map_update_batch": (c_int, c_int, _PTR, _PTR, POINTER(c_uint32), POINTER(BatchOpts)),
    "bpf_map_delete_batch": (c_int, c_int, _PTR, POINTER(c_uint32), POINTER(BatchOpts)),
    "bpf_map_lookup_batch": (c_int, c_int, _PTR, _PTR, _PTR, _PTR, POINTER(c_uint32), _PTR),
    "bpf_map_get_fd_by_id": (c_int, c_uint32),
    "bpf_prog_get_fd_by_id": (c_int, c_uint32),
    "bpf_obj_pin": (c_int, c_int, _STR),
    "bpf_obj_get": (c_int, _STR),
    "bpf_obj_get_info_by_fd": (c_int, c_int, _PTR, POINTER(c_uint32)),
    "bpf_link_create": (c_int, c_int, c_int, c_int, POINTER(LinkCreateOpts)),
    "bpf_link_update": (c_int, c_int, c_int, POINTER(LinkUpdateOpts)),
    "bpf_link_detach": (c_int, c_int),
    "bpf_enable_stats": (c_int, c_int),
    "bpf_prog_load": (c_int, c_int, _STR, _STR, _STR, c_size_t, _PTR),
    "bpf_raw_tracepoint_open": (c_int, _STR, c_int),
    "bpf_prog_test_run_opts": (c_int, c_int, POINTER(RunOpts)),
}
ELEMENT: dict[str, tuple[Any, ...]] = {
    "bpf_map_update_elem": (c_int, c_int, _STR, _STR, c_uint64),
    "bpf_map_lookup_elem": (c_int, c_int, _STR, _PTR),
    "bpf_map_delete_elem": (c_int, c_int, _STR),
    "bpf_map_get_next_key": (c_int, c_int, _STR, _PTR),
}
