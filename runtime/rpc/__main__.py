"""The reader's process: see reading.py."""

from ..agent.privileges import READER, confine


def main() -> None:
    confine(READER)
    # What starts threads, which have from then on what this one has.
    from . import reading

    reading.main()


if __name__ == "__main__":
    main()
