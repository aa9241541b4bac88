"""The program by which the kernel decodes packets: a pipeline's own parser, and one stage that
tells what the parser found."""

from __future__ import annotations

from dataclasses import replace

from ..model import Block, Pipeline, Stage, Tell, Verdict


def decoding(pipeline: Pipeline) -> Pipeline:
    """A pipeline that parses as this one does, changes nothing and looks nothing up. Malformed
    packets reach its stage, too."""
    tells = Block((Tell(pipeline.span), Verdict("pass", pipeline.span)), ends=True)
    return replace(
        pipeline,
        rules=(),
        elements=(),
        states=(),
        stages=(Stage("tell", tells, span=pipeline.span),),
        default="pass",
        hooks={event: hook for event, hook in pipeline.hooks.items() if event != "malformed"},
    )
