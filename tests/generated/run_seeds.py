"""PYTHONPATH=tests/support python tests/generated/run_seeds.py FIRST COUNT LOG [--quick]

Seeds in every form, one after the other, of every fifth its tunnels too; `--quick`: each in one
form, with as few packets as the suite has. LOG has a line of JSON for each, so that a run that was
stopped goes on where it was. Exits with 1 if any was carried out wrongly: the line names the half
of the compiler, and the pass."""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path

from campaign import short_tunnels, try_forms, try_text
from compare import Disagreement, Tally
from random_pipeline import pipeline_text


def run(first: int, count: int, log: Path, quick: bool) -> int:
    done = {line["seed"]: line for line in map(json.loads, _lines(log))}
    for number in range(first, first + count):
        for seed in (str(number), *([f"tunnels {number}"] if number % 5 == 0 else [])):
            if seed not in done:
                done[seed] = {"seed": seed, **_outcome(seed, quick)}
                with log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(done[seed]) + "\n")
    return sum("wrong" in line for line in done.values())


def _lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def _outcome(seed: str, quick: bool) -> dict[str, object]:
    tally = Tally()
    try:
        tunnels = seed.startswith("tunnels")
        text = short_tunnels(int(seed.split()[-1])) if tunnels else pipeline_text(seed)
        (try_text if quick else try_forms)(text, seed, tally)
    except Disagreement as error:
        return {"wrong": str(error)}
    except Exception:  # a crash is a fault as well
        return {"wrong": traceback.format_exc()}
    return {"packets": tally.packets}


if __name__ == "__main__":
    first, count, log, *quick = sys.argv[1:]
    wrong = run(int(first), int(count), Path(log), quick == ["--quick"])
    sys.stdout.write(f"{wrong} carried out wrongly\n")
    sys.exit(wrong > 0)
