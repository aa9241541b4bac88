// Plots over time, drawn by uPlot, each with its legend, CSV and PNG.

import { colour, el, text } from "./dom.js";
import { clock, duration, count, moment, NONE, quantity } from "./format.js";
import { ask } from "./live.js";
import { saveCsv, savePng } from "./save.js";
import { go, state } from "./state.js";
import uPlot from "./vendor/uplot/uPlot.esm.js";

const HEIGHT = 148;
// The least that the vertical axis shows, so that nothing at all does not look like much.
const LEAST = { ratio: 0.01, s: 1e-5 };
export const hue = (number) => colour(`--line-${number % 8}`);

function axes(format, size) {
  const look = {
    stroke: colour("--soft"),
    font: "11px system-ui, sans-serif",
    grid: { stroke: colour("--grid"), width: 1 },
    ticks: { stroke: colour("--grid"), width: 1, size: 4 },
  };
  return { ...look, size, values: (_, ticks) => ticks.map(format) };
}

class Frame {
  constructor(title) {
    this.title = title;
    this.canvas = el("div", { className: "canvas" });
    this.legend = el("ul", { className: "legend" });
    this.note = el("p", { className: "empty" });
    const csv = el("button", { type: "button", title: `${title}: what is drawn, as CSV` }, "CSV");
    const png = el("button", { type: "button", title: `${title}: the drawing, as PNG` }, "PNG");
    csv.onclick = () => saveCsv(this.file(), this.table());
    png.onclick = () => this.chart && savePng(this.file(), this.title, this.chart.ctx.canvas, this.labels());
    this.heading = el("h3", {}, title);
    const head = el("header", {}, this.heading, csv, png);
    this.element = el("figure", { className: "plot", "aria-label": title }, head, this.canvas, this.note, this.legend);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.canvas);
  }

  resize() {
    const width = this.canvas.clientWidth;
    if (this.chart && width && width !== this.chart.width) this.chart.setSize({ width, height: HEIGHT });
  }

  empty(why) {
    this.note.hidden = !why;
    this.canvas.hidden = Boolean(why);
    text(this.note, why);
  }

  forget() {
    this.chart?.destroy();
    this.chart = null;
  }
}

export class Plot extends Frame {
  constructor(title, unit) {
    super(title);
    this.unit = unit;
    this.lines = [];
    this.times = [];
    this.columns = [];
    this.edge = "";
  }

  // lines: [label, [pipeline, group, item, quantity]]
  set(edge, lines) {
    const key = JSON.stringify([edge, lines]);
    if (key === this.key) return;
    this.key = key;
    this.edge = edge;
    this.lines = lines;
    this.forget();
    this.rows = lines.map(([label], number) => {
      const mark = el("i", { className: "mark" });
      mark.style.background = hue(number);
      const value = el("b", {}, NONE);
      this.legend.children[number]?.remove();
      return { element: el("li", { title: label }, mark, el("span", {}, label), value), value };
    });
    this.legend.replaceChildren(...this.rows.map((row) => row.element));
  }

  draw(times, columns, from, to) {
    this.times = times;
    this.columns = columns;
    this.window = [from, to];
    const known = columns.some((column) => column.some((value) => value !== null));
    this.empty(!this.lines.length ? "Nothing is chosen." : known ? "" : "Nobody has measured this in this time.");
    if (known) {
      this.chart ??= this.made();
      this.chart.setData([times, ...columns], false);
      this.chart.setScale("x", { min: from, max: to });
    }
    this.show(null);
  }

  made() {
    const y = (value) => quantity(value, this.unit);
    return new uPlot(
      {
        width: this.canvas.clientWidth || 400,
        height: HEIGHT,
        legend: { show: false },
        padding: [6, 8, 0, 0],
        cursor: {
          sync: { key: "console" },
          drag: { x: false, y: false },
          points: { size: 5 },
          bind: {
            click: (chart, _, handler) => (event) => {
              this.clicked(chart);
              return handler(event);
            },
          },
        },
        scales: {
          x: { time: true },
          y: { range: (_, low, high) => [0, Math.max(high ?? 0, LEAST[this.unit] ?? 1) * 1.08] },
        },
        axes: [
          {
            ...axes(clock, 24),
            space: 62,
            values: (_, ticks, place, space, step) => ticks.map((t) => clock(t).slice(0, step < 60 ? 8 : 5)),
          },
          { ...axes(y, 72), space: 28 },
        ],
        series: [
          {},
          ...this.lines.map(([label], number) => ({
            label,
            stroke: hue(number),
            width: 1.5,
            points: { show: false },
            spanGaps: false,
          })),
        ],
        hooks: { setCursor: [(chart) => this.show(chart.cursor.idx)], draw: [(chart) => this.mark(chart)] },
      },
      [this.times, ...this.columns],
      this.canvas,
    );
  }

  clicked(chart) {
    if (chart.cursor.idx !== null && chart.cursor.idx !== undefined) go({ t: this.times[chart.cursor.idx] });
  }

  // The values at a place of the plot; without one those of the moment that is looked at.
  show(place) {
    const now = state.t ? this.times.findLastIndex((time) => time <= state.t) : this.times.length - 1;
    this.rows?.forEach((row, number) => text(row.value, quantity(this.columns[number]?.[place ?? now], this.unit)));
  }

  // A line at the moment of the past that is looked at.
  mark({ ctx, bbox, valToPos }) {
    if (!state.t) return;
    const x = Math.round(valToPos(state.t, "x", true));
    ctx.fillStyle = colour("--warn");
    ctx.fillRect(x, bbox.top, Math.max(1, devicePixelRatio), bbox.height);
  }

  file() {
    return `${this.edge}-${this.title}-${moment(this.window?.[1] ?? 0)}`;
  }

  labels() {
    return this.lines.map(([label], number) => [hue(number), `${label}: ${this.rows[number].value.textContent}`]);
  }

  table() {
    const head = ["time", "unix_seconds", ...this.lines.map(([label]) => `${label} (${this.unit})`)];
    const rows = this.times.map((time, n) => [moment(time), time, ...this.columns.map((c) => c[n])]);
    return [head, ...rows];
  }
}

// The plots of a view: all that they need of an edge is asked for at once, and only what is new.
export class Feed {
  constructor() {
    this.key = "";
    this.busy = false;
    this.again = null;
  }

  async update(edge, plots, from, to, live) {
    if (this.busy) {
      this.again = [edge, plots, from, to, live];
      return;
    }
    this.busy = true;
    try {
      await this.fetch(edge, plots, from, to, live);
    } finally {
      this.busy = false;
      const next = this.again;
      this.again = null;
      if (next) this.update(...next);
    }
  }

  async fetch(edge, plots, from, to, live) {
    const drawn = plots.map((plot) => [plot, plot.key, plot.lines.length]);
    const series = plots.flatMap((plot) => plot.lines.map(([, each]) => each));
    const key = JSON.stringify([edge, series, to - from, live]);
    const more = live && key === this.key && this.times.length && from >= this.from;
    const since = more ? this.times.at(-1) + 0.001 : from;
    const found = series.length
      ? await ask("history", { edge, series: JSON.stringify(series), since, until: to + 60 })
      : { times: [], columns: [] };
    if (more) {
      const old = this.times.findIndex((time) => time >= from);
      const keep = old < 0 ? this.times.length : old;
      this.times = this.times.slice(keep).concat(found.times);
      this.columns = this.columns.map((column, n) => column.slice(keep).concat(found.columns[n]));
    } else {
      [this.times, this.columns] = [found.times, found.columns];
    }
    [this.key, this.from] = [key, from];
    await this.draw(drawn, from, to);
  }

  // A plot a frame, so that none takes long.
  async draw(drawn, from, to) {
    const { times, columns } = this;
    let place = 0;
    for (const [plot, key, lines] of drawn) {
      if (plot.key === key) plot.draw(times, columns.slice(place, place + lines), from, to);
      place += lines;
      await new Promise(requestAnimationFrame);
    }
  }
}

// How often each delay was measured.
export class Histogram extends Frame {
  draw(name, found) {
    this.name = name;
    this.found = found;
    const total = found.counts.reduce((sum, each) => sum + each, 0);
    this.empty(total ? "" : "No results came in this time.");
    text(this.heading, `${this.title}: ${name}`);
    if (!total) return;
    const first = Math.max(0, found.counts.findIndex(Boolean) - 6);
    const last = Math.min(found.counts.length, found.counts.findLastIndex(Boolean) + 7);
    this.places = found.counts.map((_, n) => n).slice(first, last);
    const counts = found.counts.slice(first, last);
    this.chart ??= this.made();
    this.chart.setData([this.places, counts]);
    this.legend.replaceChildren(
      el(
        "li",
        {},
        el(
          "span",
          {},
          `${count(total)} results of ${found.minutes} min, median about ${duration(this.part(total, 0.5))}, 99 % below ${duration(this.part(total, 0.99))}`,
        ),
      ),
    );
  }

  // The delay that this share of the results is below: within a bin they are taken to be spread evenly.
  part(total, share) {
    const { counts, edges } = this.found;
    let left = total * share;
    const place = counts.findIndex((each) => (left -= each) <= 0);
    return edges[place + 1] + (left / (counts[place] || 1)) * (edges[place + 1] - edges[place]);
  }

  made() {
    const bars = uPlot.paths.bars({ size: [0.9], align: 1 });
    return new uPlot(
      {
        width: this.canvas.clientWidth || 400,
        height: HEIGHT,
        legend: { show: false },
        padding: [6, 8, 0, 0],
        cursor: { drag: { x: false, y: false }, points: { show: false } },
        scales: {
          x: { time: false, range: (_, low, high) => [low, high + 1] },
          y: { range: (_, low, high) => [0, high * 1.08] },
        },
        axes: [
          { ...axes((n) => (Number.isInteger(n) ? duration(this.found.edges[n]) : ""), 24), space: 60 },
          { ...axes(count, 72), space: 28 },
        ],
        series: [{}, { stroke: hue(0), fill: `${hue(0)}66`, width: 1, paths: bars, points: { show: false } }],
      },
      [this.places, []],
      this.canvas,
    );
  }

  file() {
    return `${this.title}-${this.name}`;
  }

  labels() {
    return [[hue(0), this.legend.textContent]];
  }

  table() {
    const rows = this.found.counts.map((each, n) => [this.found.edges[n], this.found.edges[n + 1], each]);
    return [["from_seconds", "to_seconds", "results"], ...rows];
  }
}
