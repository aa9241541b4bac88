// The pipeline's graph: what its parser knows, its stages, and what became of packets. Numbers stand where
// the data path counts, and nowhere else.

import { el, svg, text } from "./dom.js";
import { si } from "./format.js";
import { ask } from "./live.js";
import { saveCsv, savePng } from "./save.js";
import { go } from "./state.js";
import { rowsOf } from "./views.js";

const [WIDE, HIGH, ACROSS, DOWN, MARGIN] = [112, 40, 148, 62, 34];
const LINE = 13;

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
    const note = el("span", { className: "soft" }, "Packets a second stand where the data path counts them. Between headers, and from stage to stage, it does not.");
    this.element = el("div", { className: "stack" },
      el("div", { className: "bar" }, this.choice, note, button("CSV", () => this.table()), button("PNG", () => this.picture())), this.canvas);
  }

  update({ edge, state }) {
    const names = Object.keys(edge.of ?? {});
    const name = names.includes(state.pipeline) ? state.pipeline : names[0];
    if (this.choice.textContent !== names.join("")) this.choice.replaceChildren(...names.map((each) => el("option", { value: each }, each)));
    this.edge = edge;
    if (!name) return text(this.canvas, "No pipeline is loaded.");
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
      return text(this.canvas, "The pipeline's manifest was not read yet.");
    }
    this.graph = found;
    this.build();
    this.numbers();
  }

  // ---- what is drawn -------------------------------------------------------------------------

  build() {
    const { boxes, lines } = this.graph;
    this.shown = [];
    const high = (box) => HIGH + LINE * box.finds.length;
    const top = Math.min(...boxes.map((box) => box.row * DOWN - high(box) / 2));
    const place = (box) => ({ x: MARGIN + 30 + box.layer * ACROSS, y: box.row * DOWN - top + MARGIN, w: WIDE, h: high(box) });
    const places = new Map(boxes.map((box) => [box.id, place(box)]));
    for (const [name, kind, label] of [["parser", "header", "parser"], ["stages", "stage", "stages"]]) {
      const inner = boxes.filter((box) => box.kind === kind).map((box) => places.get(box.id));
      if (inner.length) places.set(name, around(inner, label));
    }
    const wide = Math.max(...[...places.values()].map((p) => p.x + p.w)) + MARGIN;
    const tall = Math.max(...[...places.values()].map((p) => p.y + p.h / 2)) + MARGIN;
    const drawing = svg("svg", { width: wide, height: tall, viewBox: `0 0 ${wide} ${tall}`, "font-family": "system-ui, sans-serif" });
    for (const name of ["parser", "stages"]) if (places.has(name)) drawing.append(...frame(places.get(name)));
    const entry = places.get("parser") ?? places.get("stages");
    this.line(drawing, { x: entry.x - 40, y: entry.y, w: 0, h: 0 }, entry, this.graph.entries);
    for (const each of lines) this.line(drawing, places.get(each.source), places.get(each.target), each.counters);
    for (const box of boxes) this.box(drawing, box, places.get(box.id));
    this.drawing = drawing;
    this.canvas.replaceChildren(drawing);
  }

  line(drawing, from, to, counters) {
    if (!from || !to) return;
    const [x, y, u, v] = [from.x + from.w, from.y, to.x, to.y];
    const bend = Math.max(18, (u - x) / 2);
    const flat = from.h > 100 ? v : y; // from the side of a frame
    const path = svg("path", { d: `M${x},${flat} C${x + bend},${flat} ${u - bend},${v} ${u},${v}`, fill: "none", class: counters.length ? "flow" : "way" });
    drawing.append(path);
    if (!counters.length) return;
    const label = svg("text", { x: (x + u) / 2, y: (flat + v) / 2 - 5, "text-anchor": "middle", class: "rate" });
    drawing.append(label);
    this.shown.push({ counters, label, path, name: counters.join(" + ") });
  }

  box(drawing, box, { x, y, w, h }) {
    drawing.append(svg("rect", { x, y: y - h / 2, width: w, height: h, rx: box.kind === "header" ? 8 : 3, class: `box ${box.kind}` }));
    const title = svg("text", { x: x + w / 2, y: y - h / 2 + 16, "text-anchor": "middle", class: "title" }, short(box.title));
    const tip = svg("title", {}, box.members.length ? `${box.title}: ${box.members.join(", ")}` : box.title);
    title.append(tip);
    const below = svg("text", { x: x + w / 2, y: y - h / 2 + 30, "text-anchor": "middle", class: "below" });
    drawing.append(title, below);
    this.shown.push({ box, label: below, name: box.id });
    box.finds.forEach((find, n) => {
      const row = svg("text", { x: x + 7, y: y - h / 2 + 44 + n * LINE - (box.counters.length ? 0 : LINE), class: "find" });
      drawing.append(row);
      this.shown.push({ find, label: row, name: `${box.title}: ${find}` });
    });
  }

  // ---- its numbers ---------------------------------------------------------------------------

  numbers() {
    const counters = new Map(rowsOf(this.edge, "counter", this.pipeline).map((row) => [row.item, row.packets]));
    const kinds = new Map(rowsOf(this.edge, "kind", this.pipeline).map((row) => [row.item, row]));
    const sum = (names) => names.reduce((all, name) => {
      const value = name.startsWith("-") ? -(counters.get(name.slice(1)) ?? 0) : counters.get(name) ?? null;
      return value === null || all === null ? null : all + value;
    }, 0);
    for (const each of this.shown) {
      if (each.find) this.found(each, kinds.get(each.find), counters.get(`miss: ${each.find}`));
      else if (each.box) this.below(each, sum, counters);
      else {
        each.value = sum(each.counters);
        text(each.label, si(each.value, "p/s"));
        const width = each.value > 0 ? 1.2 + Math.min(6, Math.log10(1 + each.value)) : 1;
        each.path.setAttribute("stroke-width", width.toFixed(1));
      }
    }
  }

  found(each, kind, missed) {
    const hits = kind?.fact.read ? kind.packets : null;
    each.value = hits;
    each.missed = missed ?? null;
    text(each.label, `${each.find} ${si(hits, "")} · ${missed ? `${si(missed, "")} missed` : "0"}`.replace(" · 0", ""));
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
    text(each.label, each.value ? `${si(each.value, "p/s")} ${what}` : box.members.length ? `${box.members.length} headers` : "");
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
      for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-weight", "opacity"]) made[n].setAttribute(name, look.getPropertyValue(name));
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

function around(inner, label) {
  const left = Math.min(...inner.map((p) => p.x)) - 14;
  const right = Math.max(...inner.map((p) => p.x + p.w)) + 14;
  const top = Math.min(...inner.map((p) => p.y - p.h / 2)) - 22;
  const bottom = Math.max(...inner.map((p) => p.y + p.h / 2)) + 12;
  return { x: left, y: (top + bottom) / 2, w: right - left, h: bottom - top, label };
}

function frame({ x, y, w, h, label }) {
  return [svg("rect", { x, y: y - h / 2, width: w, height: h, rx: 8, class: "frame" }),
    svg("text", { x: x + 10, y: y - h / 2 + 14, class: "below" }, label)];
}

const short = (name) => (name.length > 17 ? `${name.slice(0, 16)}…` : name);
