"""The calls and structures of libnghttp2 1.52 that we need, for ctypes (see its header).

No call gives up Python's lock: each is done in microseconds, and calls Python back.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import (
    POINTER,
    byref,
    c_char_p,
    c_int,
    c_int32,
    c_size_t,
    c_ssize_t,
    c_uint8,
    c_uint32,
    c_void_p,
)
from functools import cache, lru_cache
from typing import Any

NAME, PACKAGE = "libnghttp2.so.14", "libnghttp2-14"

_Call = Callable[..., int]

HEADERS, GOAWAY = 1, 7  # types of frames
END_STREAM = 1  # a frame's flag
NO_ERROR, REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM, INADEQUATE_SECURITY = 0, 7, 8, 11, 12
ERR_DEFERRED, ERR_TEMPORAL_CALLBACK_FAILURE, ERR_CALLBACK_FAILURE = -508, -521, -902
DATA_EOF, DATA_NO_END_STREAM = 1, 2
ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_HEADER_LIST_SIZE = 2, 3, 4, 6


class FrameHead(ctypes.Structure):
    """struct nghttp2_frame_hd, with which each frame begins."""

    _fields_ = (
        ("length", c_size_t), ("stream_id", c_int32), ("type", c_uint8), ("flags", c_uint8),
        ("reserved", c_uint8),
    )  # fmt: skip


class Field(ctypes.Structure):
    """struct nghttp2_nv: a header field."""

    _fields_ = (
        ("name", c_char_p), ("value", c_char_p), ("name_length", c_size_t),
        ("value_length", c_size_t), ("flags", c_uint8),
    )  # fmt: skip


class Setting(ctypes.Structure):
    """struct nghttp2_settings_entry."""

    _fields_ = (("id", c_int32), ("value", c_uint32))


_Frame = POINTER(FrameHead)
OnFrame: Any = ctypes.CFUNCTYPE(c_int, c_void_p, _Frame, c_void_p)
OnBegin: Any = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)
# Names and values end with a zero byte, and have no other (RFC 9113 section 8.2.1).
OnHeader: Any = ctypes.CFUNCTYPE(
    c_int, c_void_p, c_void_p, c_char_p, c_size_t, c_char_p, c_size_t, c_uint8, c_void_p
)
OnChunk: Any = ctypes.CFUNCTYPE(c_int, c_void_p, c_uint8, c_int32, c_void_p, c_size_t, c_void_p)
OnClose: Any = ctypes.CFUNCTYPE(c_int, c_void_p, c_int32, c_uint32, c_void_p)
Read: Any = ctypes.CFUNCTYPE(
    c_ssize_t, c_void_p, c_int32, c_void_p, c_size_t, POINTER(c_uint32), c_void_p, c_void_p
)


class Provider(ctypes.Structure):
    """struct nghttp2_data_provider."""

    _fields_ = (("source", c_void_p), ("read", Read))


_CALLS: dict[str, tuple[Any, ...]] = {
    "option_new": (POINTER(c_void_p),),
    "option_set_no_auto_window_update": (c_void_p, c_int),
    "option_set_no_closed_streams": (c_void_p, c_int),
    "session_callbacks_new": (POINTER(c_void_p),),
    "session_callbacks_set_on_begin_headers_callback": (c_void_p, OnBegin),
    "session_callbacks_set_on_header_callback": (c_void_p, OnHeader),
    "session_callbacks_set_on_data_chunk_recv_callback": (c_void_p, OnChunk),
    "session_callbacks_set_on_frame_recv_callback": (c_void_p, OnFrame),
    "session_callbacks_set_on_stream_close_callback": (c_void_p, OnClose),
    "session_server_new2": (POINTER(c_void_p), c_void_p, c_void_p, c_void_p),
    "session_client_new2": (POINTER(c_void_p), c_void_p, c_void_p, c_void_p),
    "session_del": (c_void_p,),
    "session_mem_recv": (c_void_p, c_char_p, c_size_t),
    "session_mem_send": (c_void_p, POINTER(c_void_p)),
    "session_want_read": (c_void_p,),
    "session_want_write": (c_void_p,),
    "session_consume": (c_void_p, c_int32, c_size_t),
    "session_consume_connection": (c_void_p, c_size_t),
    "session_consume_stream": (c_void_p, c_int32, c_size_t),
    "session_set_local_window_size": (c_void_p, c_uint8, c_int32, c_int32),
    "session_resume_data": (c_void_p, c_int32),
    "submit_settings": (c_void_p, c_uint8, POINTER(Setting), c_size_t),
    "submit_request": (
        c_void_p, c_void_p, POINTER(Field), c_size_t, POINTER(Provider), c_void_p,
    ),
    "submit_response": (c_void_p, c_int32, POINTER(Field), c_size_t, POINTER(Provider)),
    "submit_trailer": (c_void_p, c_int32, POINTER(Field), c_size_t),
    "submit_rst_stream": (c_void_p, c_uint8, c_int32, c_uint32),
    "submit_ping": (c_void_p, c_uint8, c_char_p),
    "submit_goaway": (c_void_p, c_uint8, c_int32, c_uint32, c_char_p, c_size_t),
    "session_get_last_proc_stream_id": (c_void_p,),
}  # fmt: skip
_SIZES = ("session_mem_recv", "session_mem_send")
_NOTHING = ("option_set_no_auto_window_update", "option_set_no_closed_streams", "session_del")


@cache
def library() -> Any:
    """Its calls, without `nghttp2_` in front. Raises OSError where it is not installed."""
    loaded = ctypes.PyDLL(NAME)

    class Calls:
        pass

    for name, takes in _CALLS.items():
        call = getattr(loaded, f"nghttp2_{name}")
        call.argtypes = takes
        call.restype = c_ssize_t if name in _SIZES else None if name in _NOTHING else c_int
        setattr(Calls, name, call)
    return Calls


@lru_cache(4)
def fields(pairs: tuple[tuple[bytes, bytes], ...]) -> Any:
    """An array of header fields, which must live as long as it is used, and stay as it is: nearly
    all answers have the same."""
    return (Field * len(pairs))(*[Field(n, v, len(n), len(v), 0) for n, v in pairs])


def settings(*pairs: tuple[int, int]) -> Any:
    return (Setting * len(pairs))(*[Setting(*pair) for pair in pairs])


class Callbacks:
    """What sessions call; by the same for all of them. Each gets the session's number last."""

    def __init__(self, *, begin_headers: _Call, header: _Call, chunk: _Call, frame: _Call,
                 close: _Call, read: _Call) -> None:  # fmt: skip
        calls = {
            "on_begin_headers": OnBegin(begin_headers), "on_header": OnHeader(header),
            "on_data_chunk_recv": OnChunk(chunk), "on_frame_recv": OnFrame(frame),
            "on_stream_close": OnClose(close),
        }  # fmt: skip
        lib, self.made, self.options = library(), c_void_p(), c_void_p()
        self.provider = Provider(None, Read(read))
        need(lib.session_callbacks_new(byref(self.made)))
        for name, call in calls.items():
            getattr(lib, f"session_callbacks_set_{name}_callback")(self.made, call)
        need(lib.option_new(byref(self.options)))
        lib.option_set_no_auto_window_update(self.options, 1)
        lib.option_set_no_closed_streams(self.options, 1)
        self._kept = calls  # as long as the library may call them


def server_session(callbacks: Callbacks, number: int) -> c_void_p:
    """To be freed by `session_del`."""
    made = c_void_p()
    need(library().session_server_new2(byref(made), callbacks.made, number, callbacks.options))
    return made


def client_session(callbacks: Callbacks, number: int) -> c_void_p:
    """To be freed by `session_del`."""
    made = c_void_p()
    need(library().session_client_new2(byref(made), callbacks.made, number, callbacks.options))
    return made


def place() -> tuple[c_void_p, Any]:
    """For an address that a call says, and what is given to that call."""
    made = c_void_p()
    return made, byref(made)


#: (into, from, count); (at, count).
copy, bytes_at = ctypes.memmove, ctypes.string_at


def need(result: int) -> None:
    """Raises MemoryError where a call failed."""
    if result < 0:
        raise MemoryError("libnghttp2 has no memory")
