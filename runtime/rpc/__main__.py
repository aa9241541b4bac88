"""The reader's process: see reading.py."""

import os

from ..kernel.privileges import READER, confine


def main() -> None:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy brings it: it reserves memory by CPU
    confine(READER)
    # What starts threads, which have from then on what this one has.
    from . import reading

    reading.main()


if __name__ == "__main__":
    main()
