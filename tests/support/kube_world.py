"""Kubernetes' own API server, over etcd, in a network namespace; objects by kubectl.

No controller runs: Services have no selectors, and tests say the EndpointSlices.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from lab import Background, LabError, Namespace, until
from services_world import Json

_BUILD = Path(__file__).with_name("kubernetes.sh")
_ETCD = "http://127.0.0.1:2379"
#: Who asks by these tokens: an administrator; a watcher, with no more than the guide gives it.
_TOKENS = 'secret,admin,1,"system:masters"\nwatching,helio-services,2\n'
_CONFIG = """
apiVersion: v1
kind: Config
clusters:
- name: tests
  cluster: {{server: "https://127.0.0.1:6443", certificate-authority: "{ca}"}}
users: [{{name: tests, user: {{token: {token}}}}}]
contexts: [{{name: tests, context: {{cluster: tests, user: tests}}}}]
current-context: tests
"""
_BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
    "metadata": {"name": "helio-services"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                "name": "helio-services"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User",
                  "name": "helio-services"}],
}  # fmt: skip
_KINDS = {"Node": "v1", "Service": "v1", "EndpointSlice": "discovery.k8s.io/v1"}


def programs() -> Path:
    """The folder of `kube-apiserver`, which is built if need be."""
    done = subprocess.run(
        [str(_BUILD), "kube-apiserver"], capture_output=True, text=True, timeout=3000
    )
    if done.returncode:
        raise LabError(f"{_BUILD.name}: {done.stderr.strip()}")
    return Path(done.stdout.strip())


def role() -> str:
    """The ClusterRole that docs/services.md says."""
    page = (Path(__file__).parents[2] / "docs" / "services.md").read_text()
    return page.split("```yaml\n", 1)[1].split("```", 1)[0]


class Cluster:
    """One etcd and one API server, which may be killed and started again."""

    def __init__(self, room: Namespace, folder: Path, address: str) -> None:
        """`address`: one of the namespace that is not of the loopback; nobody connects to it."""
        self.room, self.folder, self._address = room, folder, address
        self._programs = programs()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tokens").write_text(_TOKENS)
        key = folder / "accounts.key"
        subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True,
                       capture_output=True)  # fmt: skip
        for name, token in ("admin", "secret"), ("watcher", "watching"):
            ca = folder / "certs" / "apiserver.crt"
            (folder / name).write_text(_CONFIG.format(ca=ca, token=token))
        words = ("--listen-client-urls", _ETCD, "--advertise-client-urls", _ETCD,
                 "--listen-peer-urls", "http://127.0.0.1:2380", "--log-level", "error")  # fmt: skip
        self.etcd = room.start("etcd", "--data-dir", str(folder / "etcd"), *words)
        self.server: Background | None = None
        self.start()
        self.kubectl("apply", "-f", "-", stdin=role() + "---\n" + json.dumps(_BINDING))

    @property
    def config(self) -> Path:
        """The watcher's kubeconfig."""
        return self.folder / "watcher"

    def start(self) -> None:
        log, folder = self.folder / "server.log", self.folder
        words = [
            str(self._programs / "kube-apiserver"), f"--etcd-servers={_ETCD}", "--v=1",
            "--bind-address=127.0.0.1", f"--advertise-address={self._address}",
            "--secure-port=6443", f"--cert-dir={folder / 'certs'}",
            "--service-cluster-ip-range=10.96.0.0/16,fd00:96::/112", "--authorization-mode=RBAC",
            f"--token-auth-file={folder / 'tokens'}", "--service-account-issuer=https://tests",
            f"--service-account-key-file={folder / 'accounts.key'}",
            f"--service-account-signing-key-file={folder / 'accounts.key'}",
            "--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none",
        ]  # fmt: skip
        self.server = self.room.start("sh", "-c", 'exec "$@" >>"$0" 2>&1', str(log), *words)
        until(self._ready, "the API server", 300)

    def kill(self) -> None:
        assert self.server is not None
        self.server.stop(9)

    def _ready(self) -> bool:
        with suppress(LabError):
            return self.kubectl("get", "--raw", "/readyz") == "ok"
        return False

    def kubectl(self, *words: str, stdin: str = "") -> str:
        """As the administrator. Raises LabError with what it says."""
        made = ("kubectl", "--kubeconfig", str(self.folder / "admin"), *words)
        done = subprocess.run(
            self.room.inside(*made), input=stdin, capture_output=True, text=True, timeout=60
        )
        if done.returncode:
            raise LabError(f"{' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def etcdctl(self, *words: str) -> str:
        return self.room.run("env", "ETCDCTL_API=3", "etcdctl", "--endpoints", _ETCD, *words)

    def apply(self, *objects: Json) -> None:
        """Objects of `services_world`."""
        found = {"apiVersion": "v1", "kind": "List", "items": [*map(_whole, objects)]}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(found))

    def delete(self, kind: str, *names: str) -> None:
        self.kubectl("delete", kind, *names)


def watcher(room: Namespace, cluster: Cluster, agent: Path, *options: str) -> Background:
    """`helio-services` in a node's namespace, as it is now; it ends with the laboratory."""
    words = (sys.executable, "-m", "helioc.commands.services", "--kubeconfig", str(cluster.config),
             "--agent", f"unix:{agent}", *options)  # fmt: skip
    return room.start(*words)


def _kind(found: Json) -> str:
    if "endpoints" in found:
        return "EndpointSlice"
    return "Service" if "spec" in found else "Node"


def _whole(found: Json) -> Any:
    meta = {k: v for k, v in found["metadata"].items() if k != "creationTimestamp"}
    kept = {k: v for k, v in found.items() if k != "status" or _kind(found) == "Node"}
    return {**kept, "apiVersion": _KINDS[_kind(found)], "kind": _kind(found), "metadata": meta}
