"""What `explain` says about traces (H085x)."""

from __future__ import annotations

from ...text.explain import Explanation

EXPLANATIONS: dict[str, Explanation] = {
    "H0850": Explanation(
        "no traced build",
        "`helioctl trace` puts another build of the same pipeline in place, whose programs tell "
        "what they do. `helioc compile` makes it beside the plain one (NAME.trace.bpf.o, "
        "trace.json), unless `--no-trace` says not to.",
    ),
    "H0851": Explanation(
        "the pipeline is being traced already",
        "A traced build tells one reader. It is put out of place when that one ends; where it was "
        "killed, by the next `helioctl` command or by the agent.",
    ),
    "H0852": Explanation(
        "the traced build cannot be used",
        "A traced build says in trace.json how it writes down what happens. This one is damaged, "
        "or was made by a helioc of another release.",
    ),
    "H0853": Explanation(
        "a port that the pipeline does not have",
        "`helioctl trace --port` takes the name of a port of the edge's YAML, by which packets "
        "arrive. `helioctl metrics` lists them.",
    ),
    "H0854": Explanation(
        "a sample that cannot be understood",
        "`--sample 1/N` tells of one packet of N, each drawn by chance; N is 1 to 999,999,999.",
    ),
    "H0855": Explanation(
        "a filter that cannot be read",
        "A filter is made of tests of fields, by the names of the pipeline's parse graph: "
        "`inner.dst in 10.2.0.0/16`, `udp.dst = 53 | 5353`, `user.ttl < 5`, `vlan` (the packet has "
        "that header), `verdict = drop`; with `and`, `or`, `not` and brackets. A packet that lacks "
        "the header passes no test of its fields, not even `!=`.",
        "udp.dst == 53",
        "udp.dst = 53",
    ),
    "H0856": Explanation(
        "a filter asks for what the pipeline does not have",
        "Nodes are those of the parse graph (`helioc graph`), by the names that it gives them. A "
        "filter can ask for all fields but those of arrays and what stands behind them.",
        "ipv4.dst = 10.2.0.5",
        "user.dst = 10.2.0.5",
    ),
    "H0857": Explanation(
        "a value in a filter does not fit its field",
        "Addresses are compared with addresses, numbers with numbers that the field can hold. A "
        "prefix is as long as the field at most.",
        "user.dst = 10",
        "user.dst in 10.0.0.0/8",
    ),
    "H0858": Explanation(
        "another program is in place of the pipeline's own",
        "A trace leads each port's link from the plain build's entry program to the traced one's, "
        "and only from there: what somebody else has put in place is left alone. An upgrade does "
        "that for a moment.",
    ),
}
