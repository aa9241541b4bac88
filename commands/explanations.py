"""Every error code with its explanation: what `helioc explain` and `helioctl explain` say."""

from __future__ import annotations

from functools import cache

from ..lang.text.diagnostics import Diagnostic, Refused, did_you_mean
from ..lang.text.explain import Explanation

BUILD: dict[str, Explanation] = {
    "H0301": Explanation(
        "clang is missing",
        "Generated C is compiled by clang: 16, 19, 15, 14 or 13, whichever is found first on PATH. "
        "HELIOC_CLANG names another one, by name or path.",
    ),
    "H0302": Explanation(
        "clang does not take the generated C",
        "What `helioc check` accepts must compile with every clang that is supported, so this is a "
        "fault of helioc. The first of clang's errors is shown; the lines it names are those of "
        "the pipeline file. Please report it with the pipeline.",
    ),
    "H0303": Explanation(
        "this release cannot compile it",
        "The pipeline is sound, but asks for something that is not compiled yet: the place shown "
        "says what. Keys of over 88 octets are such; docs/language.md lists the rest.",
    ),
    "H0304": Explanation(
        "the kernel does not take the program",
        "The kernel's verifier refused a program that `helioc check` had accepted. That must not "
        "happen on the kernels that are supported (5.10 and later): please report it with the "
        "pipeline and the output of `uname -r`.",
    ),
    "H0305": Explanation(
        "a tool is missing",
        "`compile --skeleton` uses bpftool and `graph -o X.svg` graphviz's dot. Everything else "
        "works without them.",
    ),
    "H0308": Explanation(
        "an error code that does not exist",
        "`helioc explain` without a code lists those that do. A code is an H and four digits.",
    ),
    "H0309": Explanation(
        "a file cannot be written",
        "The reason is the system's. `compile -o` names a directory, which is made if need be; "
        "`graph -o` and `fmt` write single files.",
    ),
    "H0300": Explanation(
        "the system refuses",
        "The operating system did not do what a command needs: a path that is not there, a missing "
        "permission, a full disk. The reason shown is its own.",
    ),
    "H0306": Explanation("a tool failed", "The last line that the tool printed is shown."),
    "H0307": Explanation(
        "the kernel cannot be asked",
        "`helioc test --on kernel`, `helioc fuzz`, and `helioc decode` and `helioc replay` with "
        "`--kernel` load the pipeline and run its programs on packets, which needs root (CAP_BPF, "
        "CAP_NET_ADMIN) and libbpf. Without these options the interpreter is asked alone.",
    ),
    "H0315": Explanation(
        "an instruction set that is not known",
        "HELIOC_CPU says for which BPF instructions `helioc compile` builds: v2, v3 (what it does "
        "unless told otherwise) or v4, clang's -mcpu. v4 programs are a little shorter; they take "
        "clang 18 or newer, and a kernel from 6.6 on. docs/kernels.md tells what was tried.",
    ),
    "H0340": Explanation(
        "a limit of the process is reached",
        "The kernel lets a process have so many open files, and a user or a control group so many "
        "processes and threads. Nothing that was asked for was done by half. `heliod` keeps some "
        "20 files open, six for each rule kind of a pipeline, and one for each client.",
    ),
    "H0330": Explanation(
        "there is not enough memory",
        "The machine, or a limit (`ulimit -v`, a control group), gives this process no more. Rules "
        "in force are as they were. Rules in bulk may come in several files, one after the other. "
        "`load`, `upgrade`, `helioc test` and `helioc fuzz` create a pipeline's tables: the kernel "
        "takes most of their memory at once, for as many rules as each rule kind declares and for "
        "each CPU that the machine may have. They begin only where there is room. Keys of rules "
        "take memory when these come: `load` warns where there is none for as many rules as are "
        "declared. `helioc compile` shows what each table takes; it needs no such memory itself, "
        "nor does `helioc test --on interpreter`.",
        "rule PDR [4M] { match src exact ipv4.src }",
        "rule PDR [64k] { match src exact ipv4.src }",
    ),
    "H0335": Explanation(
        "more than the kernel takes of a program",
        "Each stage is a program of its own. The kernel takes so much of one and no more: 64 maps "
        "(a rule kind has three to seven), a million instructions that its verifier walks (a "
        "look-up by `range` is some 70,000 to 120,000, others a quarter), jumps of 32,767 "
        "instructions, 512 octets of stack; and 32 programs in a row. With `--fuse` all stages of "
        "a port role are one program. A traced build is longer and has more maps: where only that "
        "is too much, `helioc compile` warns and leaves it out.",
    ),
    "H0336": Explanation(
        "more stack than the kernel has",
        "A program and the functions that it calls share 512 octets of stack. What lies there is "
        "up to clang: values that are needed later and for which there is no register. A pipeline "
        "that needs more is built anew so that nothing lasts from one statement to the next, "
        "which costs some time for each packet; if that needs too much as well, a single "
        "statement does, or a hash and an entry of a state beside each other. With `--fuse` all "
        "stages of a port role are one program.",
    ),
    "H0811": Explanation(
        "a port role that the pipeline does not have",
        "Which edges of the parse graph are read depends on the role of the port that a packet "
        "came in by. `ports` in the pipeline lists the roles.",
    ),
    "H0813": Explanation(
        "a port that there is not",
        "`helioc replay --port` names a port of the edge's YAML; without `--edge` there is one "
        "port of each role, by the name of the role.",
    ),
    "H0814": Explanation(
        "an address of the host that is none",
        "`helioc replay --local` takes an IPv4 or IPv6 address as text: 10.1.0.1, 2001:db8::1.",
    ),
    "H0815": Explanation(
        "a file that is read and would be written",
        "What is written would take the place of what is read: the capture, the pipeline, its "
        "rules. That is refused before anything is opened, also where the one name is a link to "
        "the other.",
    ),
    "H0816": Explanation(
        "packets that reached nothing",
        "`helioc fuzz` ran packets, and interpreter and kernel agree on them, but none came to a "
        "`find`, `choose` or `recall` of the pipeline, or none was parsed beyond its link-layer "
        "headers. That says nothing about the pipeline. Draw more packets, or look for a condition "
        "that lets nothing through: one that contradicts an edge of the parse graph, say.",
    ),
    "H0812": Explanation(
        "hypothesis is missing",
        "`helioc fuzz` draws packets and rules by the Python package hypothesis, which the rest of "
        "Helio works without. `pip install 'helioc[fuzz]'` installs it.",
    ),
    "H9999": Explanation(
        "an internal error",
        "Helio met something that its authors did not think of: the fault is Helio's, not that of "
        "what it was given. The message names the Python error. Rules are changed all at once or "
        "not at all, so that what runs in the kernel is as it was before. Please report it with "
        "the command, its input and what it printed.",
    ),
}


@cache
def all_explanations() -> dict[str, Explanation]:
    """By code. Reads every room's table, so only when asked."""
    from ..compiler.captures import faults as captures
    from ..compiler.check import faults as checker
    from ..compiler.nfp import faults as targets
    from ..lang.contract.rules import case_faults as packet_tests
    from ..lang.contract.rules import explanations as requests
    from ..lang.contract.trace import explanations as tracing
    from ..lang.syntax import faults as syntax
    from ..runtime.loading import card_faults as cards
    from . import edge_explanations as runtime

    rooms = (syntax, checker, requests, packet_tests, captures, targets, tracing, cards)
    tables = (*(room.EXPLANATIONS for room in rooms), BUILD, runtime.RUNTIME)
    return dict(sorted(item for table in tables for item in table.items()))


def explanation(code: str) -> str:
    """The text for a code, in any case. Raises `Refused` for one that does not exist."""
    known = all_explanations()
    found = known.get(code.upper())
    if found is None:
        help_ = did_you_mean(code, known) or "`helioc explain` lists the codes"
        title = f"there is no code {code}"
        raise Refused([Diagnostic("H0308", title, (), help_)])
    return found.render(code.upper())


def titles() -> list[tuple[str, str]]:
    return [(code, e.title) for code, e in all_explanations().items()]
