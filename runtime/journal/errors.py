"""Errors of the journal and its store, and of what an agent finds in them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from ...lang.text.diagnostics import Diagnostic
from .disk import fix_of, why

CANNOT_WRITE = "H0780"


def cannot_write(path: str, reason: OSError | str, for_good: bool = False) -> Diagnostic:
    """`for_good`: until another agent begins."""
    said, errno = (reason, 0) if isinstance(reason, str) else (why(reason), reason.errno or 0)
    fix, then = fix_of(Path(path), errno), "then `heliod` goes on by itself"
    if for_good:
        fix, then = "what the disk has lost nobody knows", "start `heliod` again on a sound disk"
    return Diagnostic(CANNOT_WRITE, f"the journal `{path}` cannot be written: {said}", (),
                      f"nothing was changed; what is in force stays in force. {fix}; {then}"
                      )  # fmt: skip


def moved_away(path: str) -> Diagnostic:
    title = f"the journal `{path}` cannot be written: it was moved away, or removed"
    return Diagnostic(CANNOT_WRITE, title, (), "nothing was changed; what is in force stays in "
                      "force. Move it back, and `heliod` goes on by itself; if it is gone for good "
                      "start `heliod` again")  # fmt: skip


def damaged(path: str, why: str) -> Diagnostic:
    """A file that is to be used, and is not what was written."""
    return Diagnostic("H0781", f"the journal is damaged: `{path}`: {why}", (),
                      "`helioctl restore --replace FILE` of a backup; or load the pipeline again "
                      "and send its rules again")  # fmt: skip


def cannot_read(path: str, why: str) -> Diagnostic:
    return Diagnostic("H0798", f"the journal `{path}` cannot be read: {why}", (),
                      f"nothing was moved or written. Let `heliod` read it (`namei -l {path}`), "
                      "or mend the disk, and start `heliod` again; what a disk has lost for good "
                      "it reports, and goes on without, when you move that file away"
                      )  # fmt: skip


def doubtful(directory: str, error: OSError) -> Diagnostic:
    """Of a change of the list."""
    title = f"in force, but perhaps not on the disk: the list in `{directory}`: {why(error)}"
    fix = fix_of(Path(directory), error.errno or 0)
    help_ = (f"a reboot may bring back what was there before. {fix}; then `heliod` writes it "
             "again by itself. Until then it takes no requests")  # fmt: skip
    return Diagnostic("H0783", title, (), help_)


def not_kept(name: str) -> Diagnostic:
    return Diagnostic(
        "H0784", f"the journal does not know `{name}`: a reboot will lose it", (),
        "it was loaded without the agent, the journal's directory is another than then, or its "
        f"list was lost. `helioctl --name {name} upgrade BUNDLE`, with the bundle that it was "
        "loaded with, puts it into the journal with all rules, while packets are forwarded",
        "warning",
    )  # fmt: skip


def not_restored(name: str) -> Diagnostic:
    return Diagnostic("H0785", f"`{name}` could not be restored from the journal", (),
                      "mend what the other findings say and start `heliod` again; "
                      f"`helioctl --name {name} unload` forgets it", "warning")  # fmt: skip


def not_replaced(name: str) -> Diagnostic:
    title = f"`{name}` could not be restored from the journal, and a load would delete its rules"
    help_ = ("`helioctl status` says why it could not: mend that and start `heliod` again; or "
             f"`helioctl --name {name} unload` first, which forgets it")  # fmt: skip
    return Diagnostic("H0785", title, (), help_)


def not_replayed(name: str, revision: int) -> Diagnostic:
    return Diagnostic("H0786", f"request {revision} of `{name}` could not be made again", (),
                      "it was never acknowledged, or the machine has changed since: compare the "
                      "rules with what they should be", "warning")  # fmt: skip


def unconfirmed(path: str, revision: int) -> Diagnostic:
    title = f"the last requests in `{path}` were not confirmed: it ends at revision {revision:,}"
    return Diagnostic("H0787", title, (), "what was acknowledged is there if power failed while "
                      "they were written; otherwise the disk has damaged them: compare the rules "
                      "with what they should be", "warning")  # fmt: skip


def strays(directory: str, files: Collection[str]) -> Diagnostic:
    some = ", ".join(sorted(files)[:8]) + ", …" * (len(files) > 8)
    title = f"files of the journal that its list does not name were moved to `{directory}`: {some}"
    help_ = "an agent that was killed may leave some: remove them if nothing is missing"
    return Diagnostic("H0789", title, (), help_, "warning")


def copied(path: str, why: str) -> Diagnostic:
    title = f"`{path}`: {why}: it is written again from its other copy"
    return Diagnostic("H0789", title, (), "nothing is lost; look after the disk", "warning")


def not_kept_yet(name: str) -> Diagnostic:
    title = f"the new build of `{name}` is in force, but not in the journal"
    help_ = ("a reboot would not bring it back, but the one before if the journal has that. Rules "
             "cannot be changed until the journal can be written: make room, or mend the disk"
             )  # fmt: skip
    return Diagnostic("H0788", title, (), help_)


def damaged_backup(at: int, until: int, what: str, why: str) -> Diagnostic:
    place = f"bytes {at:,} to {until:,}" if until else f"byte {at:,}"
    return Diagnostic("H0860", f"the backup is damaged at {place}, in {what}: {why}", (),
                      "nothing was restored; take another copy of the file")  # fmt: skip


def not_empty(names: Collection[str], intents: int) -> Diagnostic:
    there = ", ".join(f"`{name}`" for name in sorted(names)) or f"{intents} intents"
    return Diagnostic("H0861", f"the agent is not empty: it has {there}", (),
                      "nothing was restored; `--replace` unloads all of it and restores the backup "
                      "in its place")  # fmt: skip


def no_backup(why: str, help_: str) -> Diagnostic:
    return Diagnostic("H0862", f"a backup cannot be taken: {why}", (), help_)
