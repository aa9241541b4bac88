"""The targets, by the name that a unit has of its own."""

from __future__ import annotations

from types import MappingProxyType

from ...lang.text.frozen import Frozen
from ..edits.head import Head
from .tc import SkbHead


class CardHead(Head):
    """All is written where it is asked for; `nfp/nfp.py` refuses what needs a function."""

    scratch = False


class Target(Frozen):
    """`template`, `define`, `context` (a struct) and `section`: of its C. `begins`: a test at the
    entry, without which a packet is an internal error; `bare`: the same, of one without a link
    header. `lost`: whether the port `port` cannot be
    sent to; `result`: what a program returns for an XDP action. `edges`: how the frame's ends are
    read, where clang would compute the address of the context's member, which no kernel takes."""

    head: Head
    template: str = "pipeline.bpf.c.j2"
    define: str = ""
    context: str = "xdp_md"
    section: str = "xdp"
    begins: str = ""
    bare: str = ""
    lost: str = "bpf_redirect_map(&egress, port, 0) != XDP_REDIRECT"
    result: str = "%s"
    edges: tuple[tuple[str, str], ...] = ()


TARGETS = MappingProxyType(
    {
        "host": Target(Head()),
        "nfp": Target(CardHead(), template="card.bpf.c.j2"),
        "tc": Target(
            SkbHead(),
            define="HELIO_TC",
            context="__sk_buff",
            section="tc",
            begins="tc_begin(ctx)",
            bare="tc_begin_bare(ctx)",
            lost="!send_out(port)",
            result="tc_action(ctx, %s)",
            edges=(
                ("(void *)(long)ctx->data_end", "limit_of(ctx)"),
                ("(void *)(long)ctx->data", "begin_of(ctx)"),
            ),
        ),
    }
)
