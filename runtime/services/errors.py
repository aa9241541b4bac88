"""What the watcher of services has to say."""

from __future__ import annotations

from collections.abc import Iterable

from ...lang.text.diagnostics import Diagnostic
from .plan import Note

_TITLES = {
    "H0887": ("{}: not translated", "TCP and UDP are: see `helioctl explain H0887`"),
    "H0888": ("{} has `loadBalancerSourceRanges`: its load balancer's addresses have no rules here",
              "remove the ranges, or use `externalIPs`"),
    "H0889": ("{} are more than a POOL takes; this node uses 255", ""),
    "H0890": ("{} belongs to an older service", "give it another address or port"),
    "H0891": ("{} has no rules: there is no room", "compile the pipeline with larger capacities"),
}  # fmt: skip


def of_note(note: Note) -> Diagnostic:
    title, help_ = _TITLES[note.code]
    severity = "error" if note.code == "H0891" else "warning"
    return Diagnostic(note.code, title.format(note.about), (), help_, severity)  # type: ignore[arg-type]


def no_library() -> Diagnostic:
    return Diagnostic("H0885", "Kubernetes' client library is not installed", (),
                      "pip install 'helioc[services]'")  # fmt: skip


def no_configuration(why: str) -> Diagnostic:
    return Diagnostic("H0886", f"how to reach the API server is not known: {why}", (),
                      "name a kubeconfig file: --kubeconfig")  # fmt: skip


def unreadable(resource: str, name: str, why: str) -> Diagnostic:
    return Diagnostic("H0892", f"{resource} {name} cannot be read: {why}", (),
                      "it counts as one that is not there", "warning")  # fmt: skip


def astray(names: Iterable[str], count: int) -> Diagnostic:
    title = f"{count} service{'s have' if count > 1 else ' has'} an endpoint here without a port"
    help_ = f"{', '.join(names)}: make the pod's interface a port in the edge's YAML"
    return Diagnostic("H0893", title, (), help_, "warning")


def no_kinds(pipeline: str, missing: Iterable[str]) -> Diagnostic:
    title = f"`{pipeline}` has no rules for services: it lacks {', '.join(missing)}"
    return Diagnostic("H0894", title, (), "name a build of `nodeport`: --pipeline")


def no_network(found: Iterable[str], said: str) -> Diagnostic:
    names = ", ".join(found) or "none"
    what = f"`{said}` is no port" if said else "there is not one port with the role `uplink`"
    return Diagnostic("H0895", f"the port towards other nodes is not known: {what}", (),
                      f"name one with --network; there are: {names}")  # fmt: skip


def forbidden(resource: str, why: str) -> Diagnostic:
    return Diagnostic("H0896", f"the API server does not allow to watch {resource}: {why}", (),
                      "give the user a ClusterRole: docs/services.md")  # fmt: skip


def no_node(name: str) -> Diagnostic:
    return Diagnostic("H0897", f"the cluster has no Node `{name}`", (),
                      "name this host's: --node")  # fmt: skip
