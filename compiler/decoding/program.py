"""The programs by which the kernel decodes packets: a pipeline's own parser, and one stage that
records what the parser found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..model import Block, DecodeProbe, Pipeline, Stage, Verdict

_AT_ONCE = 12  # nodes whose places fit a program's stack of 512 bytes with all the rest


def decodings(pipeline: Pipeline) -> Iterator[Pipeline]:
    """Pipelines that parse as this one does, change nothing and look nothing up. Malformed packets
    and tiny fragments reach their stage, too. Each records some of the nodes."""
    names = tuple(node.name for node in pipeline.graph.nodes)
    for i in range(0, len(names), _AT_ONCE):
        probe = DecodeProbe(names[i : i + _AT_ONCE], pipeline.span)
        body = Block((probe, Verdict("pass", pipeline.span)), ends=True)
        yield replace(
            pipeline,
            rules=(),
            elements=(),
            states=(),
            registers=(),
            emits=(),
            bare=(),  # captures have frames
            stages=(Stage("decode_probe", body, span=pipeline.span),),
            default="pass",
            hooks={"tiny_fragment": "continue"},
        )
