"""What `explain` says about intents (H082x, H083x)."""

from __future__ import annotations

from ...lang.text.explain import Explanation

_FLOW = "resources: [ethernet, ipv4: {src: 192.0.2.1, dst: 192.0.2.2}, udp: {dst: 53}]"

INTENTS: dict[str, Explanation] = {
    "H0820": Explanation(
        "an intent does not name the headers of its traffic",
        "`resources` is the list of headers from the outermost in, each a word or a mapping from "
        "it to its fields. Several flows are a list of such lists: up to 4,096, of up to 32 "
        "headers each.",
        "resources: {ipv4: {src: 192.0.2.1}}",
        "resources: [ethernet, ipv4: {src: 192.0.2.1}]",
    ),
    "H0821": Explanation(
        "a `resourceId` cannot be used",
        "The `resourceId` names the intent, and the rules that are made of it where their kind has "
        "names. It has 1 to 63 letters, digits, dots, underscores, colons, slashes and hyphens and "
        "begins with a letter or a digit.",
        "resourceId: video 17",
        "resourceId: video-17",
    ),
    "H0822": Explanation(
        "a moment or a duration cannot be read",
        "`start` is a moment with its time zone as in RFC 3339, `now`, or so long from now: +30s. "
        "`duration` is a number with ms, s (also without), m, h or d, and not 0.",
        "parameters: {start: tomorrow, duration: a while}",
        "parameters: {start: 2027-01-31T12:00:00Z, duration: 90s}",
    ),
    "H0823": Explanation(
        "an intent is over before it is told",
        "Its `start` and `duration` end before now, by the agent's clock.",
    ),
    "H0824": Explanation(
        "headers do not stand in this order",
        "The headers of a flow are followed through the parse graph of the pipeline, and none "
        "may be left out between two of them. Where the first is not one that packets start "
        "with, anything may be in front of it. A header is named as the pipeline's node is, or "
        "as the header's own declaration where only one node has that; `helioc doc` shows both.",
        "resources: [ethernet, udp: {dst: 53}]",
        "resources: [ethernet, ipv4, udp: {dst: 53}]",
    ),
    "H0825": Explanation(
        "a header has no such field",
        "Fields are those of the pipeline's header declarations: `src`, `dst`, `vni`, `teid` …",
        "resources: [ethernet, ipv4, udp: {dest: 53}]",
        "resources: [ethernet, ipv4, udp: {dst: 53}]",
    ),
    "H0826": Explanation(
        "a field cannot have this value here",
        "It has not so many bits, or the header that is said to follow comes only where the field "
        "has another value: VXLAN stands behind UDP port 4789. Such a field need not be written.",
        "resources: [ethernet, ipv4, udp: {dst: 53}, vxlan: {vni: 7}]",
        "resources: [ethernet, ipv4, udp, vxlan: {vni: 7}]",
    ),
    "H0827": Explanation(
        "a field would make no difference",
        "The kind of rule that carries the action out does not match this field. What is written "
        "and not looked at would be a promise that nobody keeps.",
    ),
    "H0828": Explanation(
        "a flow leaves open what a rule must have",
        "The kind of rule that carries the action out finds flows by the exact value of this "
        "element. The message says which field gives it. Ports of traffic without ports are 0, "
        "once it is sure that none follow: `ipv4: {protocol: ICMP}`.",
    ),
    "H0829": Explanation(
        "an action cannot be carried out",
        "An action names elements that the rules of one kind give, or that a rule gives which "
        "these hold for themselves: `{queue: 3}`, `{action: DROP}`. Where several kinds could do "
        "it, or the rules give nothing, `rule: KIND` says which one is meant. What a rule must "
        "give and the action leaves out is 0, if 0 has a name among the element's values.",
        "action: {que: 3}",
        "action: {queue: 3}",
    ),
    "H0830": Explanation(
        "an intent is for another pipeline",
        "`interface` must be that of one of the pipeline's ports, and `mode` (native, generic, "
        "offload) the mode in which it is attached. Both may be left out.",
    ),
    "H0831": Explanation(
        "a build does not tell what packets are made of",
        "Intents are followed through the parse graph, which manifests tell from this release on.",
    ),
    "H0832": Explanation(
        "there is no such intent",
        "`helioctl intent list` shows all that are pending or active, and the last 1,000 that "
        "failed or expired.",
    ),
    "H0833": Explanation(
        "an intent cannot be put off while it is active",
        "An intent takes the place of another of its name at one moment. This one begins later, "
        "and what should become of the other until then it does not say.",
    ),
    "H0834": Explanation(
        "this needs the agent",
        "`heliod` keeps the journal that `backup`, `restore` and `repair` are about, and begins "
        "and ends intents at their time; nobody else can. Without it `helioctl create` makes rules "
        "that stay. Of a pipeline in a network card the agent keeps no rules yet, so there are no "
        "intents for it.",
    ),
    "H0835": Explanation(
        "there are too many intents",
        "The agent keeps up to 16,384 that are pending or active, and 8 MiB of text of all that it "
        "keeps. One intent may have up to 4,096 flows.",
    ),
    "H0837": Explanation(
        "an intent that could not begin, nor be taken back",
        "An intent is written into the journal before its rules are made. These could not be made, "
        "and then the journal could not be written either, as on a disk that failed. So a restart "
        "would find the intent, and until then it is pending.",
    ),
    "H0836": Explanation(
        "an intent's rules are gone",
        "Somebody has deleted them by a request. The intent counts as failed; it is not made "
        "again by itself, for whoever deleted them had a reason.",
    ),
}
