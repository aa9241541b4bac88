"""What was acknowledged and is not in a state directory, and how that is reported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ...lang.text.diagnostics import Diagnostic

#: What is lost: a pipeline, what was asked of it behind a revision, answers to idempotency keys
#: alone, or the list.
What = Literal["pipeline", "requests", "answers", "list"]


@dataclass(frozen=True)
class Loss:
    """What was acknowledged and is not there. `file` is the one at fault, and `why`. `revision`: up
    to which all is there; `lost`: how many behind it are not, 0 where nobody knows. `pipeline`:
    empty of the list itself, and of intents."""

    pipeline: str
    file: str
    why: str
    what: What
    revision: int = 0
    lost: int = 0


def data_loss(directory: Path, loss: Loss) -> Diagnostic:
    of = f"`{loss.pipeline}`" if loss.pipeline else "the intents"
    of, file = of if loss.what != "list" else "every pipeline", directory / loss.file
    about = {
        "pipeline": "the pipeline cannot be restored" if loss.pipeline else "those that were there "
                    "when it was written cannot be restored",
        "requests": f"all is there up to revision {loss.revision:,}, {_count(loss.lost)} behind it "
                    "are lost",
        "answers": "its rules are all there, but not all that was answered to idempotency keys",
        "list": "what there was nobody knows",
    }[loss.what]  # fmt: skip
    then = {
        "pipeline": "load it again and send its rules again, or `helioctl restore` a backup"
        if loss.pipeline
        else "send them again",
        "requests": "send again what was asked for behind that revision",
        "answers": "a request that is sent again with such a key is made again",
        "list": "load all pipelines again and send their rules again",
    }[loss.what]
    help_ = (f"{then}; then `helioctl repair --accept-loss`, and look after the disk. What was "
             "replaced is in `aside`")  # fmt: skip
    return Diagnostic("H0781", f"data of {of} is lost: `{file}`: {loss.why}; {about}", (), help_)


def _count(revisions: int) -> str:
    return f"{revisions:,} revision{'s' * (revisions != 1)}" if revisions else "those"
