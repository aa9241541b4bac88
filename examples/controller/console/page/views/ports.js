// Ports of an edge, and what happened to packets.

import { el } from "../dom.js";
import { count } from "../format.js";
import { Feed, Plot } from "../plots.js";
import { rowsOf, status, cut, column, local } from "./rows.js";

export class Ports {
  constructor() {
    this.feed = new Feed();
    this.plots = [
      new Plot("Traffic in", "bit/s"),
      new Plot("Traffic out", "bit/s"),
      new Plot("Packets in", "packets/s"),
      new Plot("Verdicts", "packets/s"),
    ];
    this.ports = local(
      "Ports",
      [
        { key: "item", title: "Port", width: "minmax(90px, 1fr)", show: (row) => row.item },
        { key: "role", title: "Role", width: "70px", value: (row) => row.fact.role, show: (row) => row.fact.role },
        {
          key: "interface",
          title: "Interface",
          width: "90px",
          value: (row) => row.fact.interface,
          show: (row) => row.fact.interface,
        },
        {
          key: "state",
          title: "State",
          width: "90px",
          value: (row) => row.fact.state,
          show: (row) => status(row.fact.state),
        },
        column("rx_packets", "Packets in", "packets/s", "104px"),
        column("rx_bits", "Traffic in", "bit/s", "110px"),
        column("rx_drops", "Drops in", "packets/s"),
        column("tx_packets", "Packets out", "packets/s", "104px"),
        column("tx_bits", "Traffic out", "bit/s", "110px"),
        column("tx_drops", "Drops out", "packets/s"),
      ],
      { empty: "No port." },
    );
    this.counters = local(
      "What happened to packets",
      [
        {
          key: "item",
          title: "What happened to packets",
          width: "minmax(140px, 1fr)",
          show: (row) => [row.item, /^(drop|malformed|miss)/.test(row.item) ? "warn" : ""],
        },
        column("packets", "Now", "packets/s"),
        {
          key: "total",
          title: "In all",
          width: "110px",
          right: true,
          value: (row) => row.fact.total,
          show: (row) => count(row.fact.total),
        },
      ],
      { empty: "Nothing was counted." },
    );
    this.kinds = local(
      "Rules by kind",
      [
        { key: "item", title: "Rule kind", width: "minmax(90px, 1fr)", show: (row) => row.item },
        column("packets", "Packets", "packets/s"),
        column("bits", "Traffic", "bit/s", "104px"),
        {
          key: "rules",
          title: "Rules",
          width: "120px",
          right: true,
          value: (row) => row.fact.rules,
          show: (row) => `${count(row.fact.rules)} of ${count(row.fact.capacity)}`,
        },
      ],
      { empty: "No rule kind." },
    );
    this.element = el(
      "div",
      { className: "stack" },
      this.ports.element,
      el("div", { className: "plots" }, ...this.plots.map((plot) => plot.element)),
      el("div", { className: "pair" }, this.counters.element, this.kinds.element),
    );
  }

  update({ edge, from, to, live }) {
    const ports = rowsOf(edge, "port");
    this.ports.show(ports);
    this.counters.show(rowsOf(edge, "counter").filter((row) => row.fact.total > 0));
    this.kinds.show(rowsOf(edge, "kind"));
    const lines = (quantity) => cut(ports).map((row) => [row.item, [row.pipeline, "port", row.item, quantity]]);
    const verdicts = rowsOf(edge, "counter").filter((row) => row.item.startsWith("verdict: "));
    const by = [
      lines("rx_bits"),
      lines("tx_bits"),
      lines("rx_packets"),
      cut(verdicts).map((row) => [row.item.slice(9), [row.pipeline, "counter", row.item, "packets"]]),
    ];
    this.plots.forEach((plot, n) => plot.set(edge.name, by[n]));
    this.feed.update(edge.name, this.plots, from, to, live);
  }
}
