// The fleet at a glance: totals above, and edges as links at the left.

import { byId, el, text } from "./dom.js";
import { ago, count, duration, ratio, si } from "./format.js";
import { address, state } from "./state.js";

export function drawTotals(fleet) {
  const rows = [...fleet.values()];
  const sum = (value) => rows.reduce((all, row) => all + (value(row) ?? 0), 0);
  const most = (value) => rows.map(value).reduce((all, each) => (each === null ? all : Math.max(all ?? 0, each)), null);
  const reachable = sum((row) => row.state === "reachable");
  const dead = sum((row) => row.overlays.dead);
  const overlays = sum((row) => row.overlays.alive + row.overlays.unknown + row.overlays.dead);
  const totals = [
    ["edges reachable", `${count(reachable)} of ${count(rows.length)}`, reachable < rows.length ? "bad" : "good"],
    ["overlays", count(overlays), ""],
    ["dead", count(dead), dead ? "bad" : "good"],
    [
      "packets in",
      si(
        sum((row) => row.packets),
        "p/s",
      ),
      "",
    ],
    [
      "traffic in",
      si(
        sum((row) => row.bits),
        "bit/s",
      ),
      "",
    ],
    ["worst delay alive", duration(most((row) => row.delay)), ""],
    ["worst loss alive", ratio(most((row) => row.loss)), ""],
  ];
  const list = byId("totals");
  if (list.children.length !== totals.length)
    list.replaceChildren(...totals.map(([name]) => el("div", {}, el("dd"), el("dt", {}, name))));
  totals.forEach(([, value, look], n) => {
    const cell = list.children[n].firstChild;
    text(cell, value);
    cell.className = look;
  });
}

// Edges as links, the first leads to the whole fleet. Elements stay, so that the focus does.
export function drawList(fleet, now) {
  const wanted = byId("find").value.toLowerCase();
  const rows = [...fleet.values()].filter((row) => row.name.toLowerCase().includes(wanted));
  const list = byId("list");
  while (list.children.length > rows.length + 1) list.lastChild.remove();
  while (list.children.length < rows.length + 1)
    list.append(el("a", {}, el("i", { className: "dot" }), el("span"), el("small")));
  entry(list.children[0], "", "All edges", "all", `${count(fleet.size)}`);
  rows.forEach((row, n) => {
    const look =
      row.state === "unreachable"
        ? "bad"
        : row.overlays.dead || row.findings || row.congested
          ? "warn"
          : row.state === "reachable"
            ? "good"
            : "";
    const said = row.state === "unreachable" ? `no answer for ${ago(now - row.since)}` : si(row.packets, "p/s");
    entry(list.children[n + 1], row.name, row.name, look, said);
  });
}

function entry(link, name, label, look, said) {
  const [dot, title, small] = link.children;
  text(title, label);
  text(small, said);
  dot.className = `dot ${look}`;
  const href = address({ edge: name, pick: [], pipeline: "", view: name && state.edge ? state.view : "" });
  if (link.getAttribute("href") !== href) link.setAttribute("href", href);
  if (name === state.edge) link.setAttribute("aria-current", "page");
  else link.removeAttribute("aria-current");
}
