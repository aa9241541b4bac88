// Overlays of all edges, or of one with plots of some.

import { el, text } from "../dom.js";
import { ago, count, NONE, quantity, ratio } from "../format.js";
import { ask } from "../live.js";
import { Feed, Plot } from "../plots.js";
import { go } from "../state.js";
import { Table } from "../table.js";
import { status, cut } from "./rows.js";

const OVERLAY = [
  ["delay", "Delay", "s"],
  ["jitter", "Jitter", "s"],
  ["loss", "Loss", "ratio"],
  ["share", "Flow share, by packets", "ratio"],
];

export class Overlays {
  constructor(all) {
    this.all = all;
    this.asked = { first: 0, count: 60, sort: "name", falling: false, text: "", state: "" };
    this.feed = new Feed();
    this.plots = OVERLAY.map(([, title, unit]) => new Plot(title, unit));
    const edge = all ? [{ key: "edge", title: "Edge", width: "minmax(110px, 1fr)", show: (row) => row[0] }] : [];
    const value = (n, unit) => (row) => quantity(row[3][n], unit);
    this.table = new Table(
      "Overlays",
      [
        ...edge,
        { key: "name", title: "Overlay", width: "minmax(130px, 1.6fr)", show: (row) => row[2] },
        { key: "state", title: "State", width: "90px", show: (row) => status(row[4][2]) },
        {
          key: "since",
          title: "Since",
          width: "70px",
          right: true,
          sort: false,
          show: (row) => (row[4][3] ? ago(this.now - row[4][3]) : NONE),
        },
        { key: "delay", title: "Delay", width: "92px", right: true, show: value(0, "s") },
        { key: "jitter", title: "Jitter", width: "92px", right: true, show: value(1, "s") },
        {
          key: "loss",
          title: "Loss",
          width: "76px",
          right: true,
          show: (row) => [ratio(row[3][2]), row[3][2] > 0.01 ? "warn" : ""],
        },
        { key: "share", title: "Share", width: "76px", right: true, show: value(5, "ratio") },
        { key: "packets", title: "Packets", width: "92px", right: true, show: value(3, "packets/s") },
        { key: "bits", title: "Traffic", width: "104px", right: true, show: value(4, "bit/s") },
        { key: "by", title: "Measured by", width: "minmax(110px, 1fr)", sort: false, show: (row) => row[4][4] || NONE },
      ],
      {
        open: (row) => this.pick(row),
        picked: (row) => !all && this.picked.includes(row[2]),
        onsort: (sort, falling) => this.ask({ sort, falling, first: 0 }),
        empty:
          "No overlay fits. Overlays are measured where the edge's YAML has `liveness`, or a STAMP session has their name.",
      },
    );
    this.table.sortBy("name", false);
    this.table.element.classList.add(all ? "tall" : "half");
    const find = el("input", {
      type: "search",
      placeholder: "Find an overlay",
      "aria-label": "Find an overlay",
      autocomplete: "off",
    });
    find.oninput = () => this.ask({ text: find.value, first: 0 });
    const state = el(
      "select",
      { "aria-label": "State" },
      ...["", "alive", "dead", "unknown"].map((each) => el("option", { value: each }, each || "every state")),
    );
    state.onchange = () => this.ask({ state: state.value, first: 0 });
    this.number = el("span", { className: "soft" });
    const hint = el(
      "span",
      { className: "soft" },
      all ? "A row leads to its edge." : "A click plots an overlay, or takes it away: up to eight.",
    );
    this.element = el(
      "div",
      { className: "stack" },
      el("div", { className: "bar" }, find, state, this.number, hint),
      this.table.element,
      ...(all ? [] : [el("div", { className: "plots" }, ...this.plots.map((plot) => plot.element))]),
    );
    this.picked = [];
  }

  pick(row) {
    const [edge, , name] = row;
    if (this.all) {
      go({ edge, view: "overlays", pick: [name] });
      return;
    }
    const now = this.picked.includes(name)
      ? this.picked.filter((each) => each !== name)
      : [...this.picked, name].slice(-8);
    go({ pick: now }, true);
  }

  async ask(changes) {
    Object.assign(this.asked, changes);
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    try {
      do {
        this.again = false;
        const { state } = this.context;
        const found = await ask("overlays", { ...this.asked, edge: this.all ? "" : state.edge, t: state.t });
        this.shown(found);
      } while (this.again);
    } finally {
      this.busy = false;
    }
  }

  shown(found) {
    this.now = this.context.now;
    text(this.number, `${count(found.all)} overlay${found.all === 1 ? "" : "s"}`);
    if (this.asked.first === 0) this.top = found.rows;
    this.table.set(found.rows, found.all, found.first, (first, number) =>
      this.ask({ first, count: Math.max(60, number + 20) }),
    );
    if (!this.all && this.due) this.plot(found.rows);
    this.due = false;
  }

  // Without a choice the first rows of the table are drawn.
  plot(rows) {
    const { state, edge, from, to, live } = this.context;
    const names = new Map((this.top ?? rows).map((row) => [row[2], row[1]]));
    for (const row of rows) names.set(row[2], row[1]);
    this.picked = state.pick.length
      ? state.pick
      : cut(
          (this.top ?? rows).map((row) => row[2]),
          5,
        );
    const pipeline = rows[0]?.[1] ?? "";
    OVERLAY.forEach(([quantity], n) => {
      const lines = this.picked.map((name) => [name, [names.get(name) ?? pipeline, "overlay", name, quantity]]);
      this.plots[n].set(edge.name, lines);
    });
    this.table.draw();
    this.feed.update(edge.name, this.plots, from, to, live);
  }

  update(context) {
    this.context = context;
    this.picked = context.state.pick.length ? context.state.pick : this.picked;
    this.due = true; // not each time that rows are asked for
    this.ask({});
  }
}
