"""A Debian of its own, booted by systemd, over the clean root that tests/setup.sh makes.

Files are changed in memory, processes and mounts are its own, bpffs, too; the network namespace is
that of whoever boots it. When the block ends all of it is gone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab import Background, Namespace, until

CLEAN = Path("/var/cache/helio-tests/bookworm")
_CGROUPS = ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")
_BOOT = """
set -e
root=$1
mount --make-rprivate /
mount -t tmpfs -o size=1g,mode=755 none "$root"
mkdir "$root/upper" "$root/work" "$root/system"
mount -t overlay -o lowerdir="$2",upperdir="$root/upper",workdir="$root/work" none "$root/system"
cd "$root/system"
mount -t tmpfs -o mode=755 none run; mount -t tmpfs -o mode=1777 none tmp; mount -t proc none proc
mount -t sysfs none sys; mount -t cgroup2 none sys/fs/cgroup
mount -t bpf -o mode=0700 none sys/fs/bpf
mount -t tmpfs -o mode=755 none dev
for each in null zero full random urandom tty; do
  touch dev/$each; mount --bind /dev/$each dev/$each
done
mkdir dev/shm dev/pts dev/mqueue dev/hugepages
mount -t devpts -o newinstance,ptmxmode=0666 none dev/pts; ln -s pts/ptmx dev/ptmx
pivot_root . mnt
umount -l /mnt
echo mounted
container=test exec /lib/systemd/systemd --unit=multi-user.target --show-status=no
"""


@dataclass
class DebianRoot:
    """`pid`: of its systemd."""

    edge: Namespace
    pid: int

    @property
    def files(self) -> Path:
        return Path(f"/proc/{self.pid}/root")

    def put(self, source: Path, to: str) -> None:
        """A file or folder, as `to`."""
        target = self.files / to.lstrip("/")
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)

    def run(self, *words: str, status: int = 0, seconds: float = 60) -> str:
        """A command within; what it said."""
        inside = ["nsenter", "--target", str(self.pid), "--mount", "--pid", "--uts", "--ipc",
                  "--cgroup", "--root", "--wd=/", "--", *words]  # fmt: skip
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive",
                       "LC_ALL": "C.UTF-8"}  # fmt: skip
        done = subprocess.run(
            self.edge.inside(*inside), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=seconds, env=environment,
        )  # fmt: skip
        assert done.returncode == status, f"{' '.join(words)}: {done.returncode}: {done.stdout}"
        return done.stdout

    def log(self, unit: str) -> str:
        return self.run("journalctl", "--no-pager", "-u", unit)


@contextmanager
def booted(edge: Namespace, directory: Path) -> Iterator[DebianRoot]:
    """`directory`: an empty one for its mounts."""
    group = _cgroup() / f"helio-test-{os.getpid()}"
    group.mkdir()
    words = ["unshare", "--mount", "--pid", "--fork", "--uts", "--ipc", "--cgroup", "--kill-child"]
    enter = f'echo $$ >{group}/cgroup.procs; exec {" ".join(words)} bash -c "$@"'
    inside = edge.inside("sh", "-c", enter, "sh", _BOOT, "boot", str(directory), str(CLEAN))
    process = Background(inside)
    try:
        process.expect("mounted")
        (first,) = until(lambda: _children(process.pid), "its first process")
        made = DebianRoot(edge, first)
        until(lambda: (made.files / "run/systemd/private").exists(), "systemd listens", 30)
        made.run("systemctl", "is-system-running", "--wait")
        yield made
    finally:
        process.stop()
        until(lambda: _removed(group), "its processes have ended")


def _cgroup() -> Path:
    """Where cgroup2 is mounted."""
    return next(p for p in map(Path, _CGROUPS) if (p / "cgroup.subtree_control").exists())


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _removed(group: Path) -> bool:
    try:
        for path, _, _ in os.walk(group, topdown=False):
            os.rmdir(path)
    except OSError:
        return False
    return True
