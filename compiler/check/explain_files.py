"""What `helioc explain` says about files, names and the pipeline's frame."""

from __future__ import annotations

from ...lang.text.explain import Explanation

FILES: dict[str, Explanation] = {
    "H0201": Explanation(
        "an imported file does not exist",
        "`import std.NAME` takes one of the header files that come with helioc. Any other name "
        "is a file beside the importing one: `import lab.radio` is `lab/radio.hp`.",
        "import std.greee",
        "import std.gre",
    ),
    "H0202": Explanation(
        "files import each other",
        "A file that is imported may import others, but not one that leads back to it. Put "
        "what both need into a third file.",
    ),
    "H0203": Explanation(
        "a name is not declared",
        "Every name is declared somewhere: headers in an imported file, nodes by the edge that "
        "leads to them, elements by `ie`, rule kinds by `rule`, port roles by `ports`. Imports "
        "are not handed on: a file sees the headers of the files it imports itself.",
        "stage main {\n  find PRD else { default }\n  pass\n}",
        "stage main {\n  find PDR else { default }\n  pass\n}",
    ),
    "H0204": Explanation(
        "a name is declared twice",
        "Within its sort a name has one meaning. Names of elements, symbols and rule kinds "
        "must differ in more than case, because requests ignore case.",
        "ie colour = 40, u8\nie Colour = 41, u8",
        "ie colour = 40, u8\nie shade = 41, u8",
    ),
    "H0205": Explanation(
        "a name is taken by something else",
        "Where a statement names a rule, a port or a node, one word must not stand for two of "
        "them; and `port`, `l4`, `local` mean something everywhere.",
        "rule user [16] {\n  gives weight\n}",
        "rule USER [16] {\n  gives weight\n}",
    ),
    "H0206": Explanation(
        "something is missing",
        "A pipeline says which port roles there are (`ports`), how packets are parsed "
        "(`parser`) and in which order its stages run (`run`). Some statements need more: "
        "`reply icmp` an `ipv4` node, `l4` a `tcp` or `udp` node, `hash` something to hash.",
        "rule LOAD [16] {\n  match tos exact user.tos\n  spread FAR[1..4] over hash()\n}",
        "rule LOAD [16] {\n  match tos exact user.tos\n  spread FAR[1..4] over hash(user.src)\n}",
    ),
    "H0207": Explanation(
        "something is said twice",
        "Some things are said once in a pipeline, a rule or a header: which of two would hold?",
        "default pass\ndefault drop",
        "default pass",
    ),
    "H0208": Explanation(
        "an import is not used (warning)",
        "No header of the imported file is a node of the parse graph.",
    ),
    "H0209": Explanation(
        "this release does not compile that yet",
        "The language means something by it, and a later release will compile it; the help "
        "line says what to write for now.",
        "stage main {\n  if port is wan or not user { drop }\n"
        "  push gre { key = 1 } before user\n  pop to user\n  drop\n}",
        "stage main {\n  pass\n}",
    ),
}
