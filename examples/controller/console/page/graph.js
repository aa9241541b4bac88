// The pipeline's graph: what its parser knows, its stages, and what became of packets. Numbers stand where
// the data path counts, and nowhere else.

import { el, svg, text } from "./dom.js";
import { si } from "./format.js";
import { ask } from "./live.js";
import { saveCsv, savePng } from "./save.js";
import { go } from "./state.js";
import { rowsOf } from "./views/rows.js";

// Headers stand in layers from left to right, below them the stages in a row, and at its end the verdicts.
const HEADER = { wide: 108, high: 40, across: 138, down: 64 };
const STAGE = { wide: 236, high: 44, across: 300, down: 58, line: 15 };
const MARGIN = 40;

export class Graph {
  constructor() {
    this.choice = el("select", { "aria-label": "Pipeline" });
    this.choice.onchange = () => go({ pipeline: this.choice.value });
    this.canvas = el("div", { className: "graph", tabIndex: 0, role: "img", "aria-label": "The pipeline's graph" });
    const button = (label, act) => {
      const made = el("button", { type: "button" }, label);
      made.onclick = act;
      return made;
    };
    const note = el(
      "span",
      { className: "soft" },
      "Packets a second stand where the data path counts them. Between headers, and from stage to stage, it does not.",
    );
    this.element = el(
      "div",
      { className: "stack" },
      el(
        "div",
        { className: "bar" },
        this.choice,
        note,
        button("CSV", () => this.table()),
        button("PNG", () => this.picture()),
      ),
      this.canvas,
    );
  }

  update({ edge, state }) {
    const names = Object.keys(edge.of ?? {});
    const name = names.includes(state.pipeline) ? state.pipeline : names[0];
    if (this.choice.textContent !== names.join(""))
      this.choice.replaceChildren(...names.map((each) => el("option", { value: each }, each)));
    this.edge = edge;
    if (!name) return this.canvas.replaceChildren(el("p", { className: "empty" }, "No pipeline is loaded."));
    this.choice.value = name;
    const key = `${edge.name}/${name}/${edge.of[name].digest}`;
    if (key !== this.key) this.load(key, name);
    else if (this.graph) this.numbers();
  }

  async load(key, name) {
    this.key = key;
    this.pipeline = name;
    this.graph = null;
    const found = await ask("graph", { edge: this.edge.name, pipeline: name });
    if (key !== this.key) return;
    if (!found) {
      this.key = "";
      return this.canvas.replaceChildren(el("p", { className: "empty" }, "The pipeline's manifest was not read yet."));
    }
    this.graph = found;
    this.build();
    this.numbers();
  }

  // ---- what is drawn -------------------------------------------------------------------------

  build() {
    this.shown = [];
    const places = placed(this.graph.boxes);
    const all = [...places.values()];
    const wide = Math.max(...all.map((p) => p.x + p.w)) + MARGIN;
    const tall = Math.max(...all.map((p) => p.y + p.h / 2)) + MARGIN / 2;
    const scale = Math.min(1, Math.max(0.7, (this.canvas.clientWidth - 16) / wide));
    const drawing = svg("svg", {
      width: wide * scale,
      height: tall * scale,
      viewBox: `0 0 ${wide} ${tall}`,
      "font-family": "system-ui, sans-serif",
    });
    for (const name of ["parser", "stages"]) if (places.has(name)) drawing.append(...frame(places.get(name)));
    const entry = places.get("parser") ?? places.get("stages");
    this.line(
      drawing,
      `M${entry.x - 34},${entry.y} L${entry.x},${entry.y}`,
      [entry.x - 17, entry.y - 8],
      this.graph.entries,
    );
    for (const { source, target, counters } of this.graph.lines) {
      const [from, to] = [places.get(source), places.get(target)];
      if (from && to) this.line(drawing, ...way(source, from, to), counters);
    }
    for (const box of this.graph.boxes) this.box(drawing, box, places.get(box.id));
    this.drawing = drawing;
    this.canvas.replaceChildren(drawing);
  }

  line(drawing, d, place, counters) {
    const path = svg("path", { d, fill: "none", class: counters.length ? "flow" : "way" });
    drawing.append(path);
    if (!counters.length || !place) {
      if (counters.length) this.shown.push({ counters, path, name: counters.join(" + ") });
      return;
    }
    const [x, y] = place;
    const label = svg("text", { x, y, "text-anchor": "middle", class: "rate" });
    drawing.append(label);
    this.shown.push({ counters, label, path, name: counters.join(" + ") });
  }

  box(drawing, box, { x, y, w, h }) {
    drawing.append(
      svg("rect", {
        x,
        y: y - h / 2,
        width: w,
        height: h,
        rx: box.kind === "header" ? 8 : 3,
        class: `box ${box.kind}`,
      }),
    );
    const title = svg(
      "text",
      { x: x + w / 2, y: y - h / 2 + 16, "text-anchor": "middle", class: "title" },
      short(box.title),
    );
    const tip = svg("title", {}, box.members.length ? `${box.title}: ${box.members.join(", ")}` : box.title);
    title.append(tip);
    const below = svg("text", { x: x + w / 2, y: y - h / 2 + 30, "text-anchor": "middle", class: "below" });
    drawing.append(title, below);
    this.shown.push({ box, label: below, name: box.id });
    box.finds.forEach((find, n) => {
      const row = svg("text", { x: x + 10, y: y - h / 2 + (counted(box) ? 48 : 36) + n * STAGE.line, class: "find" });
      drawing.append(row);
      this.shown.push({ find, label: row, name: `${box.title}: ${find}` });
    });
  }

  // ---- its numbers ---------------------------------------------------------------------------

  numbers() {
    const counters = new Map(rowsOf(this.edge, "counter", this.pipeline).map((row) => [row.item, row.packets]));
    const kinds = new Map(rowsOf(this.edge, "kind", this.pipeline).map((row) => [row.item, row]));
    const sum = (names) =>
      names.reduce((all, name) => {
        const value = name.startsWith("-") ? -(counters.get(name.slice(1)) ?? 0) : (counters.get(name) ?? null);
        return value === null || all === null ? null : all + value;
      }, 0);
    for (const each of this.shown) {
      if (each.find) this.found(each, kinds.get(each.find), counters.get(`miss: ${each.find}`));
      else if (each.box) this.below(each, sum, counters);
      else {
        each.value = sum(each.counters);
        if (each.label) text(each.label, si(each.value, "p/s"));
        const width = each.value > 0 ? 1.2 + Math.min(6, Math.log10(1 + each.value)) : 1;
        each.path.setAttribute("stroke-width", width.toFixed(1));
      }
    }
  }

  found(each, kind, missed) {
    const hits = kind?.fact.read ? kind.packets : null;
    each.value = hits;
    each.missed = missed ?? null;
    text(each.label, `${each.find} ${si(hits, "p/s")}${missed ? `, missed ${si(missed, "p/s")}` : ""}`);
    each.label.setAttribute("class", missed ? "find warn" : "find");
  }

  below(each, sum, counters) {
    const { box } = each;
    if (box.kind === "verdict") {
      each.value = sum(box.counters);
      text(each.label, si(each.value, "p/s"));
      return;
    }
    const own = box.counters.filter((name) => !name.startsWith("miss: "));
    const known = own.filter((name) => counters.has(name));
    each.value = known.length ? sum(known) : null;
    const what = box.kind === "header" ? "malformed" : "counted";
    const told = each.value || (box.kind === "stage" && each.value !== null);
    text(
      each.label,
      told ? `${si(each.value, "p/s")} ${what}` : box.members.length ? `${box.members.length} headers` : "",
    );
    each.label.setAttribute("class", each.value && box.kind === "header" ? "below warn" : "below");
  }

  // ---- files ---------------------------------------------------------------------------------

  name() {
    return `${this.edge.name}-${this.pipeline}-graph`;
  }

  table() {
    const rows = this.shown.map((each) => [each.name, each.value ?? null, each.missed ?? null]);
    saveCsv(this.name(), [["what", "packets_per_second", "missed_per_second"], ...rows]);
  }

  // A drawing by itself has no style sheet: what it looks like is written into it.
  picture() {
    const copy = this.drawing.cloneNode(true);
    const [own, made] = [this.drawing, copy].map((each) => [...each.querySelectorAll("path, rect, text")]);
    own.forEach((each, n) => {
      const look = getComputedStyle(each);
      for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-weight", "opacity"])
        made[n].setAttribute(name, look.getPropertyValue(name));
    });
    const url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
    const image = new Image();
    image.onload = () => {
      const drawn = el("canvas", { width: image.width * 2, height: image.height * 2 });
      drawn.getContext("2d").drawImage(image, 0, 0, drawn.width, drawn.height);
      savePng(this.name(), `${this.edge.name}: ${this.pipeline}`, drawn, []);
      URL.revokeObjectURL(url);
    };
    image.src = url;
  }
}

const counted = (box) => box.counters.some((name) => !name.startsWith("miss: "));

// Where each box and both frames are: x, the middle's y, width, height.
function placed(boxes) {
  const places = new Map();
  const of = (kind) => boxes.filter((box) => box.kind === kind);
  const [headers, stages, verdicts] = ["header", "stage", "verdict"].map(of);
  const top = Math.min(0, ...headers.map((box) => box.row));
  for (const box of headers) {
    places.set(box.id, {
      x: MARGIN + 20 + box.layer * HEADER.across,
      y: MARGIN + 22 + (box.row - top) * HEADER.down,
      w: HEADER.wide,
      h: HEADER.high,
    });
  }
  if (headers.length)
    places.set(
      "parser",
      around(
        headers.map((box) => places.get(box.id)),
        "parser",
      ),
    );
  const above = headers.length ? places.get("parser").y + places.get("parser").h / 2 + 70 : MARGIN;
  const high = (box) => (counted(box) ? STAGE.high : STAGE.high - 12) + STAGE.line * box.finds.length;
  const most = Math.max(STAGE.down * verdicts.length, ...stages.map(high));
  stages.forEach((box, n) =>
    places.set(box.id, { x: MARGIN + 20 + n * STAGE.across, y: above + 22 + most / 2, w: STAGE.wide, h: high(box) }),
  );
  if (stages.length)
    places.set(
      "stages",
      around(
        stages.map((box) => places.get(box.id)),
        "stages",
      ),
    );
  const right = MARGIN + 20 + (stages.length - 1) * STAGE.across + STAGE.wide + 150;
  verdicts.forEach((box, n) =>
    places.set(box.id, {
      x: right,
      y: above + 22 + most / 2 + (n - (verdicts.length - 1) / 2) * STAGE.down,
      w: 96,
      h: 40,
    }),
  );
  return places;
}

// A line as a path, and where its number stands.
function way(source, from, to) {
  const [x, y, u, v] = [from.x + from.w, from.y, to.x, to.y];
  if (source === "parser") {
    const [down, left] = [from.y + from.h / 2, to.x + 112];
    return [`M${left},${down} L${left},${to.y - to.h / 2}`, [left + 46, down + 26]];
  }
  if (source === "stages") return [`M${x},${y} C${x + 60},${y} ${u - 60},${v} ${u},${v}`, null]; // the box has the number
  const layers = Math.round((u - x) / HEADER.across + 0.3);
  const bend = Math.max(16, (u - x) / 2);
  const lift = layers > 1 ? (y + v < 2 * from.y + 1 ? -1 : 1) * Math.min(44, 12 + 7 * layers) : 0;
  return [`M${x},${y} C${x + bend},${y + lift} ${u - bend},${v + lift} ${u},${v}`, [(x + u) / 2, (y + v) / 2 - 6]];
}

function around(inner, label) {
  const left = Math.min(...inner.map((p) => p.x)) - 14;
  const right = Math.max(...inner.map((p) => p.x + p.w)) + 14;
  const top = Math.min(...inner.map((p) => p.y - p.h / 2)) - 22;
  const bottom = Math.max(...inner.map((p) => p.y + p.h / 2)) + 12;
  return { x: left, y: (top + bottom) / 2, w: right - left, h: bottom - top, label };
}

function frame({ x, y, w, h, label }) {
  return [
    svg("rect", { x, y: y - h / 2, width: w, height: h, rx: 8, class: "frame" }),
    svg("text", { x: x + 10, y: y - h / 2 + 14, class: "below" }, label),
  ];
}

const short = (name) => (name.length > 15 ? `${name.slice(0, 14)}…` : name);
