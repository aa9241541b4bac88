"""What `explain` says about the edge's YAML, bundles, loading and tables (H06xx, H07xx)."""

from __future__ import annotations

from ..lang.text.explain import Explanation
from ..runtime.base.agent_faults import AGENT
from ..runtime.enrolment.faults import ENROLMENT
from ..runtime.intents.explanations import INTENTS
from ..runtime.journal.faults import JOURNAL
from ..runtime.kernel.faults import KERNELS
from ..runtime.loading.upgrade_faults import UPGRADES
from ..runtime.wanted_faults import WANTED

_PORTS = "ports:\n  LAN: {role: lan, interface: eth1}"

EDGE: dict[str, Explanation] = {
    "H0601": Explanation(
        "the edge's file is no YAML",
        "The file that `helioctl load --config` reads is YAML 1.1. The place shown is where the "
        "reader gave up; the cause may stand before it: a bracket that is never closed, a tab "
        "for spaces.",
        "ports: {LAN: {role: lan, interface: eth1}",
        "ports: {LAN: {role: lan, interface: eth1}}",
    ),
    "H0602": Explanation(
        "a value has another shape than is expected",
        "Some keys take a mapping (`{role: lan, interface: eth1}`), others a single value.",
        "ports: {LAN: lan}",
        "ports: {LAN: {role: lan, interface: eth1}}",
    ),
    "H0603": Explanation(
        "a key stands twice",
        "Of two equal keys YAML readers keep one without a word. A port or an overlay would be "
        "lost.",
        "ports:\n  LAN: {role: lan, interface: eth1}\n  LAN: {role: lan, interface: eth2}",
        "ports:\n  LAN1: {role: lan, interface: eth1}\n  LAN2: {role: lan, interface: eth2}",
    ),
    "H0604": Explanation(
        "a key is unknown",
        "The keys are `bundle`, `ports`, `rules`, `default`, `control`, `mode`, `reports`, `icmp`, "
        "`liveness` and `congestion` where the pipeline has a use for them, and for each "
        "named rule kind its plural: `overlays` for OVERLAY. A port has `role`, `interface`, "
        "`vlan` and `number`; a rule its own elements and `id`.",
        "prots: {LAN: {role: lan, interface: eth1}}",
        "ports: {LAN: {role: lan, interface: eth1}}",
    ),
    "H0605": Explanation(
        "a key is missing",
        "A port needs `role` and `interface`; `control` needs `interface` and `address`.",
        "ports: {LAN: {interface: eth1}}",
        _PORTS,
    ),
    "H0606": Explanation(
        "a word is none of those that are known here",
        "Roles are those that the pipeline declares with `ports`; `default` is `pass` or "
        "`drop`; `mode` is `native` or `generic`.",
        "ports: {LAN: {role: lann, interface: eth1}}",
        _PORTS,
    ),
    "H0607": Explanation(
        "an interface does not exist",
        "Interfaces are those of the network namespace in which `helioctl` runs (`ip link`). In "
        "another one it is started by `nsenter --net=/run/netns/NAME helioctl …`.",
    ),
    "H0608": Explanation(
        "two ports have the same interface",
        "A packet arrives by one port. Where one wire carries several networks, make an "
        "interface of each (a VLAN, a macvlan).",
    ),
    "H0609": Explanation(
        "a number is out of range",
        "VLAN ids are 1 to 4094 (IEEE 802.1Q), port numbers 1 to 63.",
        "ports: {LAN: {role: lan, interface: eth1, vlan: 4095}}",
        "ports: {LAN: {role: lan, interface: eth1, vlan: 4094}}",
    ),
    "H0610": Explanation(
        "two of a kind have the same number",
        "Numbers are how rules refer to ports. Without `number` a port gets the lowest that is "
        "free, in the order of the file. The same goes for the ids of overlays: without `id` one "
        "is allotted.",
        "ports: {LAN: {role: lan, interface: eth0, number: 1}, "
        "WAN: {role: wan, interface: eth1, number: 1}}",
        "ports: {LAN: {role: lan, interface: eth0, number: 1}, "
        "WAN: {role: wan, interface: eth1, number: 2}}",
    ),
    "H0611": Explanation(
        "a text is no IPv4 address",
        "An address is written with dots and without a prefix length: 192.0.2.1.",
        "control: {interface: eth0, address: 192.0.2.1/24}",
        "control: {interface: eth0, address: 192.0.2.1}",
    ),
    "H0612": Explanation(
        "there are too many ports",
        "A pipeline has at most 63 ports.",
    ),
    "H0613": Explanation(
        "no ports are named",
        "A pipeline without a port meets no packet.",
        "default: pass",
        _PORTS,
    ),
    "H0614": Explanation(
        "an interface does not have this address",
        "`control` names the interface and the address by which the controller reaches this "
        "edge; the address must be there when the pipeline is loaded (`ip address`).",
    ),
    "H0615": Explanation(
        "a name cannot be used",
        "Names of ports have 1 to 63 printable octets and are not numbers: in a request a "
        "number in the place of a port is the port's number.",
    ),
    "H0616": Explanation(
        "the control interface is also a port",
        "Then the controller's packets go through the pipeline. They reach this host because "
        "what is addressed to it passes, but a rule that is wrong may cut the edge off from its "
        "controller.",
    ),
}

LOADING: dict[str, Explanation] = {
    "H0622": Explanation(
        "an option has a value that it does not take",
        "A file that `heliod --config` reads has a key for each option of `heliod`, with the value "
        "that the option takes on the command line; one that takes none is `true` or `false`. "
        "`heliod --help` lists them, docs/install.md has an example.",
        "rate: fast",
        "rate: 5000",
    ),
    "H0620": Explanation(
        "congestion would begin and end at once",
        "Between `backlog_calm` and `backlog`, in per cent of a queue, and between `calm` and "
        "`cpu`, in per cent of a CPU, nothing changes: without that gap traffic would be diverted "
        "and taken back in turn.",
        "congestion: {cpu: 80, calm: 80}",
        "congestion: {cpu: 80, calm: 60}",
    ),
    "H0621": Explanation(
        "reports cannot be sent where the file says",
        "`otlp` is the URL at which a collector takes OTLP over HTTP, with its path; who may send "
        "there says a token in a file, `token_file`, not the URL. `ca` and `token_file` are read "
        "by the agent, wherever it runs: their paths begin with a slash.",
        "reports: {otlp: collector.example.net}",
        "reports: {otlp: https://collector.example.net:4318/v1/metrics}",
    ),
    "H0617": Explanation(
        "a time that cannot be used",
        "Times have a unit: `500 ms`, `1 s`, `2 min`; a mere number is seconds. Overlays are "
        "probed every 0.1 to 60 seconds; a dead one is held down for an hour at most.",
        "liveness: {interval: 1 minute}",
        "liveness: {interval: 1 min}",
    ),
    "H0618": Explanation(
        "a probe's target for an overlay that the file does not have",
        "`to` names overlays of the file or those that requests create later. If the name is "
        "misspelt, the overlay that was meant is probed at its far end.",
    ),
    "H0619": Explanation(
        "probes cannot come from this address",
        "`from` is the address within the tunnel that probes come from and answers go to: one of "
        "this host, such as that of the port to the site.",
    ),
    "H0701": Explanation(
        "a directory is no bundle",
        "`helioc compile X.hp -o DIRECTORY` writes manifest.json and X.bpf.o; `helioctl load` "
        "needs both.",
    ),
    "H0702": Explanation(
        "a manifest cannot be used",
        "The manifest is of another release, damaged or written by something else than helioc.",
    ),
    "H0703": Explanation(
        "manifest and object do not belong together",
        "The manifest has the SHA-256 of the object that it describes. One of the two was "
        "replaced.",
    ),
    "H0704": Explanation(
        "the object lacks what its manifest promises",
        "Programs and maps that the manifest names are not in the object, or have other sizes.",
    ),
    "H0705": Explanation(
        "a pipeline of this name is loaded already",
        "Names are those of the pipeline, or given by `helioctl --name`. They are unique on a "
        "machine, over all its network namespaces.",
    ),
    "H0706": Explanation(
        "no such pipeline is loaded",
        "`helioctl list` shows what is loaded. Without `--name` only pipelines of this network "
        "namespace are meant. Nothing stays loaded over a reboot.",
    ),
    "H0707": Explanation(
        "a pipeline cannot have this name",
        "The name becomes a directory in /sys/fs/bpf/helio, where the kernel keeps names with "
        "dots for itself.",
    ),
    "H0708": Explanation(
        "several pipelines are loaded",
        "`helioctl --name NAME …` says which one is meant.",
    ),
    "H0709": Explanation(
        "another program is changing the pipeline",
        "One writer works at a time: it holds a lock in /run/helio that ends with it, however "
        "it ends. A second one waits for five seconds before this is said. `helioctl show` and "
        "`stats` need no lock.",
    ),
    "H0710": Explanation(
        "what is pinned cannot be read",
        "Something else than helioctl wrote below /sys/fs/bpf/helio, or another release did.",
    ),
    "H0711": Explanation(
        "the pipeline is of another network namespace",
        "Interfaces, addresses, routes and neighbours are those of a network namespace; rules "
        "can only be resolved in the one where the pipeline was loaded.",
    ),
    "H0712": Explanation(
        "an object file is damaged",
        "The object of a bundle is what the manifest's digest says, and yet no object file that "
        "libbpf can read, or one that it does not survive. `heliod` has objects read and loaded by "
        "a process of their own, so that nothing else is disturbed.",
    ),
    "H0713": Explanation(
        "a pipeline was loaded again",
        "When `heliod` started, pins of the pipeline's maps were gone or had another object, so "
        "that nobody could open it. The journal had all of it: the agent took away what was left "
        "and loaded it as after a reboot. Packets went to the kernel in between. Something removed "
        "files below /sys/fs/bpf/helio: find out what.",
    ),
    "H0714": Explanation(
        "kernel objects are not what was loaded",
        "A file below /sys/fs/bpf/helio is gone or leads to another object, a stage's program is "
        "not in the table of tail calls, or a port's link leads to a foreign program. Packets may "
        "still be forwarded, as the kernel keeps what is in use, but nobody could open the "
        "pipeline again. `helioctl repair` loads the programs of the journal's bundle beside those "
        "that run, with the same rules and counters, and switches each port by one link update, as "
        "an upgrade to the same build. `heliod` looks every two seconds and with each status; a "
        "port that has lost its link gets a new one then. Where that takes a program that is gone, "
        "too, the agent repairs by itself, as one does that starts.",
    ),
    "H0715": Explanation(
        "kernel objects were put back",
        "When `heliod` started, or a port had lost its program, kernel objects of the pipeline "
        "were not those that it was loaded with. Its rules and counters were intact, and it was "
        "repaired as by `helioctl repair`. "
        "Something changes files below /sys/fs/bpf/helio: find out what.",
    ),
    "H0716": Explanation(
        "the pipeline cannot be repaired while it runs",
        "The journal has no bundle of the build that runs (it was loaded by `helioctl --local`, or "
        "without a journal), or it runs on a network card.",
    ),
    "H0720": Explanation(
        "the privilege is missing",
        "Loading programs needs root, or CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON, and a kernel "
        "that does not forbid bpf() (lockdown, seccomp in a container). Maps of a network card "
        "take CAP_SYS_ADMIN: `heliod --cards` keeps it.",
    ),
    "H0721": Explanation(
        "no bpf file system is mounted",
        "Pipelines outlive `helioctl` by names in /sys/fs/bpf. `ip netns exec` hides that "
        "mount: use `nsenter --net=/run/netns/NAME`.",
    ),
    "H0722": Explanation(
        "the kernel refuses",
        "Helio needs Linux 5.10 or newer, with BPF, its JIT and XDP. The kernel's reason is in "
        "the message.",
    ),
    "H0723": Explanation(
        "the verifier refuses a program",
        "The kernel proves of every program that it ends and stays within its memory. What "
        "`helioc check` accepts should pass, so this is a fault of helioc; the line is that of "
        "the pipeline's source.",
    ),
    "H0724": Explanation(
        "another XDP program is attached",
        "An interface runs one XDP program. One of another pipeline of Helio's goes with `helioctl "
        "--name NAME unload`. Of others `bpftool net` and `ip link` show which; a program "
        "that is held by a link goes when its owner ends or lets go.",
    ),
    "H0725": Explanation(
        "an interface has no native XDP",
        "Native XDP runs in the driver. `mode: generic` runs behind it, on every interface, at "
        "the cost of a socket buffer for each packet.",
    ),
    "H0726": Explanation(
        "an interface takes no redirected frames",
        "Forwarding hands frames to the driver of the port they leave by. A veth takes them "
        "only while its other end polls: with GRO on, or with a native XDP program. Otherwise "
        "they would be lost without a trace, so the load is refused. A veth learns of its other "
        "end's GRO when that is switched while the other end is up, and when it is itself set up: "
        "GRO that was on before the other end came up does not count. Switched off and on it does.",
    ),
    "H0727": Explanation(
        "a program cannot be attached",
        "The kernel's reason is in the message; for most drivers the MTU must leave room for a "
        "packet in one page.",
    ),
    "H0729": Explanation(
        "a veth does not deliver what is sent back by it",
        "A warning: `send back` and `reply icmp` send a packet out by the port that it came in by. "
        "A veth hands such frames (XDP_TX) to its other end only where a native XDP program is "
        "attached there. With GRO alone they wait until another frame goes that way; without it "
        "they are lost. A program that passes everything will do; the message has the command "
        "that makes one. Physical interfaces and `mode: generic` need nothing.",
    ),
}

TABLES: dict[str, Explanation] = {
    "H0730": Explanation(
        "a lookup table is full",
        "Each rule takes a key, and a range one for each power-of-two block that it comes to: "
        "1024..2047 one, 1000..2000 nine. Nothing of the request was done.",
        "create PDR [(dst_port, u16, 1000..2000), FAR 1]",
        "create PDR [(dst_port, u16, 1024..2047), FAR 1]",
    ),
    "H0731": Explanation(
        "the rules use too many different masks",
        "The data path looks once under each mask: each combination of elements and prefix "
        "lengths that rules use. A range uses as many as it has different block sizes, two "
        "ranges their product. Nothing of the request was done.",
    ),
    "H0732": Explanation(
        "a request changes too many rules at once",
        "Old and new versions of all changed rules lie side by side until the request is in "
        "force. There is room for the whole capacity of a kind, but not for more. Nothing of "
        "the request was done.",
    ),
    "H0733": Explanation(
        "a rule refers to one that does not exist",
        "Nothing of the request was done.",
    ),
    "H0734": Explanation(
        "a rule's name is too long",
        "Names have at most 63 octets of UTF-8.",
    ),
    "H0740": Explanation(
        "a file cannot be read, or made",
        "It does not exist, or its directory does not, its permissions forbid it, or it is not "
        "text: requests, CSV and YAML are UTF-8; `iconv` converts a file to it.",
    ),
    "H0741": Explanation(
        "a file's ending does not say what it holds",
        "`helioctl push` reads .req and .txt (requests as text), .yaml and .yml (the same in "
        "YAML), .csv (rules of one kind, a line each), .hpr (packed columns), and - (text on "
        "standard input).",
    ),
    "H0742": Explanation(
        "whose rules a CSV holds is not clear",
        "A CSV has rules of one kind: that of its file's name (pdr.csv), or the one of `--kind`.",
    ),
    "H0743": Explanation(
        "no rule fits these words",
        "`helioctl show` takes a kind, a kind and an id or name, or a name alone.",
    ),
    "H0745": Explanation(
        "a file is too large",
        "Requests in text or YAML have at most 64 MiB, rules in bulk (.csv, .hpr) 1 GiB, the "
        "edge's YAML 1 MiB. Of what is no regular file (a pipe, a device) 64 MiB are read.",
    ),
    "H0744": Explanation(
        "the kernel does not route by a port",
        "A packet whose next hop the runtime has not resolved asks the kernel's FIB, which answers "
        "only for interfaces with `forwarding` on. With it off such packets stay unresolved until "
        "`helioctl refresh` finds the neighbour.",
    ),
}

RUNTIME: dict[str, Explanation] = {
    **EDGE, **LOADING, **KERNELS, **TABLES, **UPGRADES, **AGENT, **JOURNAL, **INTENTS,
    **ENROLMENT, **WANTED,
}  # fmt: skip
