"""Information elements: the words of a controller."""

from __future__ import annotations

from collections.abc import Sequence

from ...lang import tree
from ...lang.contract.base.lists import LONGEST_RUN
from ...lang.contract.manifest.manifest_check import MOST_LISTED
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error, listed
from ...lang.text.source import Span
from .. import model
from . import errors
from .header_fields import scalar

_TYPES = ["u8", "u16", "u32", "u64", "mac", "ip4", "ip6", "bytes", "name", "port"]
#: A name takes whole words of a key.
WORD = 8


class Elements:
    """The pipeline's information elements, by name. `broken`: declared, but wrongly."""

    def __init__(
        self,
        declared: Sequence[tree.InformationElement],
        kinds: dict[str, tree.Rule],
        found: Diagnostics,
    ) -> None:
        self.kinds = kinds
        self.found = found
        self.known: dict[str, model.Element] = {}
        self.written: dict[str, tree.InformationElement] = {}
        self.broken: set[str] = set()
        self.names: dict[str, tree.Name] = {}
        self.numbers: dict[int, tree.InformationElement] = {}
        for each in declared:
            self.declare(each)

    def declare(self, ie: tree.InformationElement) -> None:
        first = self.names.setdefault(ie.name.text.lower(), ie.name)
        if first is not ie.name:
            help = (
                ""
                if first.text == ie.name.text
                else "requests ignore case: the names must differ otherwise"
            )
            self.found.add(errors.declared_twice("information element", ie.name, first.span, help))
            return
        if ie.name.text in self.kinds:
            self.found.add(
                errors.name_taken(ie.name, "a rule kind", self.kinds[ie.name.text].name.span)
            )
        self.number(ie)
        made = self.element(ie)
        if made is None:
            self.broken.add(ie.name.text)
        else:
            self.known[ie.name.text] = made
            self.written[ie.name.text] = ie

    def number(self, ie: tree.InformationElement) -> None:
        first = self.numbers.setdefault(ie.number.value, ie)
        if first is not ie:
            self.found.add(_number_taken(ie.number, first.number.span, first.name.text))
        if not 1 <= ie.number.value <= 0xFFFF:
            self.found.add(
                errors.number_out_of_range(ie.number.span, "the number of an element", 1, 0xFFFF)
            )

    def element(self, ie: tree.InformationElement) -> model.Element | None:
        if ie.types[0].text in ("bytes", "name") and len(ie.types) == 1:
            return self.run(ie)
        plain = [t for t in ie.types if scalar(t.text)]
        references = [t for t in ie.types if t.text == "port" or t.text in self.kinds]
        strange = [t for t in ie.types if t not in plain and t not in references]
        for name in strange:
            allowed = "u1 … u64, mac, ip4, ip6, bytes[n], name[n], a rule kind, port"
            self.found.add(errors.no_such_type(name, allowed, [*_TYPES, *self.kinds]))
        if strange:
            return None
        if plain and len(ie.types) > 1:
            span = ie.types[0].span.to(ie.types[-1].span)
            self.found.add(_mixed_types(span, [t.text for t in plain]))
            return None
        for i, name in enumerate(references):
            if name.text in [r.text for r in references[:i]]:
                self.found.add(errors.declared_twice("the reference to", name, references[0].span))
        written = " | ".join(t.text for t in ie.types)
        kind, width = (scalar(ie.types[0].text) or ("uint", 32)) if plain else ("uint", 32)
        symbols = self.symbols(ie, kind, width, written) if ie.symbols else []
        most = self.most(ie, bool(plain)) if ie.most else 0
        written += f"[{most}]" if most else ""
        return model.Element(
            ie.name.text,
            ie.number.value,
            written,
            width,
            kind,
            tuple((s.name.text, s.value.value) for s in symbols if not s.reserved),
            tuple(dict.fromkeys(r.text for r in references)),
            ie.doc,
            ie.name.span,
            most,
            tuple(
                model.Reserved(s.name.text, s.value.value, " ".join(s.doc.split()))
                for s in symbols
                if s.reserved
            ),
        )

    def run(self, ie: tree.InformationElement) -> model.Element | None:
        """An element that is a run of bytes, or a name."""
        kind: model.Kind = "bytes" if ie.types[0].text == "bytes" else "name"
        size, step = ie.most.value if ie.most else 0, 1 if kind == "bytes" else WORD
        if not 1 <= size <= LONGEST_RUN or size % step:
            self.found.add(_size_of_run(ie, kind, step))
            return None
        written = f"{kind}[{size}]"
        if ie.symbols:
            self.found.add(_symbols_of(ie.symbols[0].span.to(ie.symbols[-1].span), written))
        return model.Element(
            ie.name.text, ie.number.value, written, size * 8, kind, doc=ie.doc, span=ie.name.span
        )

    def most(self, ie: tree.InformationElement, plain: bool) -> int:
        """How many values the element holds, at most."""
        assert ie.most is not None
        if not plain or ie.symbols:
            what = "a list of references" if not plain else "a list of named values"
            self.found.add(errors.unsupported(ie.most.span, what))
        elif not 1 <= ie.most.value <= MOST_LISTED:
            what = "the number of values"
            self.found.add(errors.number_out_of_range(ie.most.span, what, 1, MOST_LISTED))
        return ie.most.value

    def symbols(
        self, ie: tree.InformationElement, kind: model.Kind, width: int, written: str
    ) -> list[tree.Symbol]:
        """Those with a name and a value of their own."""
        if kind != "uint" or not scalar(written):
            self.found.add(_symbols_of(ie.symbols[0].span.to(ie.symbols[-1].span), written))
            return []
        if all(symbol.reserved for symbol in ie.symbols):
            help = "declare a value that a rule may have, or leave the braces out"
            what = "an element all of whose values are reserved"
            self.found.add(errors.unsupported(ie.name.span, what, help))
        names: dict[str, tree.Symbol] = {}
        values: dict[int, tree.Symbol] = {}
        for symbol in ie.symbols:
            first = names.setdefault(symbol.name.text.lower(), symbol)
            if first is not symbol:
                self.found.add(errors.declared_twice("symbol", symbol.name, first.name.span))
                continue
            same = values.setdefault(symbol.value.value, symbol)
            if same is not symbol:
                self.found.add(_symbol_value_twice(symbol, same))
            if symbol.value.value >> width:
                self.found.add(
                    errors.does_not_fit(
                        symbol.value.span,
                        f"`{symbol.value.text}`",
                        f"`{ie.name.text}`",
                        width,
                        ie.types[0].span,
                    )
                )
        return list(names.values())

    def find(self, name: tree.Name) -> model.Element | None:
        """The element of that name; None if it has been reported."""
        if name.text in self.known:
            return self.known[name.text]
        if name.text not in self.broken:
            self.found.add(
                errors.unknown(
                    "information element", name, self.known, "declare it: `ie NAME = NUMBER, TYPE`"
                )
            )
        return None


# ---- errors ---------------------------------------------------------------------------------


def _number_taken(again: tree.Number, first: Span, name: str) -> Diagnostic:
    return error(
        "H0250",
        f"the number {again.value} is taken",
        (again.span, "used again"),
        (first, f"the number of `{name}`"),
        help="every information element has a number of its own on the wire",
    )


def _size_of_run(ie: tree.InformationElement, kind: str, step: int) -> Diagnostic:
    sizes = f"from {step} to {LONGEST_RUN}" + (f", in steps of {step}" if step > 1 else "")
    where = ie.most.span if ie.most else ie.types[0].span
    what = "bytes" if kind == "bytes" else "characters of a name"
    return error(
        "H0473",
        f"`{ie.name.text}` does not say how many {what} are compared",
        (where, sizes),
        help=f"write for example `{kind}[{16 if kind == 'bytes' else 64}]`",
    )


def _mixed_types(span: Span, plain: Sequence[str]) -> Diagnostic:
    return error(
        "H0252",
        "an information element is a value or a reference, not both",
        (span, f"{listed(plain)} {'is a type' if len(plain) == 1 else 'are types'} of values"),
        help="name one type, or only rule kinds and `port`",
    )


def _symbols_of(span: Span, type_: str) -> Diagnostic:
    return error(
        "H0253",
        f"an element of type `{type_}` has no symbols",
        (span, "symbols stand for numbers"),
        help="give it a type u1 … u64, or leave the symbols out",
    )


def _symbol_value_twice(again: tree.Symbol, first: tree.Symbol) -> Diagnostic:
    return error(
        "H0254",
        f"`{first.name.text}` and `{again.name.text}` are the same value",
        (again.span, "this value again"),
        (first.span, "first here"),
        help="give each symbol a value of its own",
    )
