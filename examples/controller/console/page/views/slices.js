// Slices, queues, the busiest rules and state tables.

import { el, text } from "../dom.js";
import { ago, count, NONE } from "../format.js";
import { Feed, Plot } from "../plots.js";
import { rowsOf, status, cut, column, local } from "./rows.js";

export class Slices {
  constructor() {
    this.feed = new Feed();
    this.plots = [
      new Plot("Packets of slices", "packets/s"),
      new Plot("Traffic of slices", "bit/s"),
      new Plot("Diverted from queues", "ratio"),
      new Plot("Busiest rules", "packets/s"),
    ];
    this.queue = el("p", { className: "said" });
    this.slices = local(
      "Slices",
      [
        { key: "item", title: "Slice (intent)", width: "minmax(120px, 1fr)", show: (row) => row.item },
        {
          key: "state",
          title: "State",
          width: "84px",
          value: (row) => row.fact.state,
          show: (row) => status(row.fact.state),
        },
        column("packets", "Packets", "packets/s"),
        column("bits", "Traffic", "bit/s", "104px"),
        { key: "why", title: "Why", width: "minmax(80px, 1fr)", sort: false, show: (row) => row.fact.why || NONE },
      ],
      { empty: "The agent has no intents: `helioctl intent apply`." },
    );
    this.rules = local(
      "Busiest rules",
      [
        { key: "item", title: "Busiest rules", width: "minmax(120px, 1fr)", show: (row) => row.item },
        column("packets", "Packets", "packets/s"),
        column("bits", "Traffic", "bit/s", "104px"),
      ],
      { empty: "No rule counts, or there are more than are read." },
    );
    this.rules.sortBy("packets", true);
    this.states = local(
      "State tables",
      [
        { key: "item", title: "State table", width: "minmax(100px, 1fr)", show: (row) => row.item },
        {
          key: "entries",
          title: "Entries",
          width: "150px",
          right: true,
          show: (row) => `${count(row.entries)} of ${count(row.fact.capacity)}`,
        },
      ],
      { empty: "The pipeline has no state tables." },
    );
    this.element = el(
      "div",
      { className: "stack" },
      this.queue,
      el("div", { className: "pair" }, this.slices.element, this.rules.element),
      el("div", { className: "plots" }, ...this.plots.map((plot) => plot.element)),
      this.states.element,
    );
  }

  update({ edge, from, to, live, now }) {
    const watched = Object.entries(edge.of ?? {}).filter(([, facts]) => facts.congestion);
    const said = watched.map(
      ([name, { congestion: c }]) =>
        `${name}: ${c.congested ? `congested for ${ago(now - c.since)}: ${c.why}` : `queues are not congested (${ago(now - c.since)})`}`,
    );
    text(this.queue, said.join("  ") || "Nobody watches the queues of this host: `congestion` in the edge's YAML.");
    this.queue.className = `said${watched.some(([, f]) => f.congestion.congested) ? " bad" : ""}`;
    const slices = rowsOf(edge, "slice");
    const rules = rowsOf(edge, "rule");
    const queues = rowsOf(edge, "queue");
    this.slices.show(slices);
    this.rules.show(rules);
    this.states.show(rowsOf(edge, "state"));
    const lines = (rows, group, quantity) =>
      cut(rows).map((row) => [row.item, [row.pipeline, group, row.item, quantity]]);
    const busy = rules.toSorted((a, b) => (b.packets ?? -1) - (a.packets ?? -1));
    this.busy =
      live && this.busy?.edge === edge.name && this.busy.until > now
        ? this.busy
        : { edge: edge.name, until: now + 30, rows: cut(busy, 6) };
    [
      lines(slices, "slice", "packets"),
      lines(slices, "slice", "bits"),
      lines(queues, "queue", "diverted"),
      lines(this.busy.rows, "rule", "packets"),
    ].forEach((each, n) => this.plots[n].set(edge.name, each));
    this.feed.update(edge.name, this.plots, from, to, live);
  }
}
