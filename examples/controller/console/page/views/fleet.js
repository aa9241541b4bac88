// All edges.

import { el } from "../dom.js";
import { ago, count, NONE } from "../format.js";
import { go } from "../state.js";
import { status, column, local } from "./rows.js";

export class Fleet {
  constructor() {
    this.table = local(
      "Edges",
      [
        { key: "name", title: "Edge", width: "minmax(120px, 1.4fr)", show: (row) => row.name },
        { key: "state", title: "Agent", width: "110px", show: (row) => status(row.state) },
        {
          key: "since",
          title: "Since",
          width: "76px",
          right: true,
          show: (row) => ago(this.now - row.since),
          value: (row) => -row.since,
        },
        column("packets", "Packets in", "packets/s", "110px"),
        column("bits", "Traffic in", "bit/s", "110px"),
        column("drops", "Port drops", "packets/s", "100px"),
        {
          key: "alive",
          title: "Overlays",
          width: "90px",
          right: true,
          value: (row) => row.overlays.alive + row.overlays.unknown,
          show: (row) => count(row.overlays.alive + row.overlays.unknown + row.overlays.dead),
        },
        {
          key: "dead",
          title: "Dead",
          width: "66px",
          right: true,
          value: (row) => row.overlays.dead,
          show: (row) => [count(row.overlays.dead), row.overlays.dead ? "bad" : "soft"],
        },
        column("delay", "Worst delay alive", "s", "136px"),
        column("loss", "Worst loss alive", "ratio", "126px"),
        {
          key: "findings",
          title: "Findings",
          width: "84px",
          right: true,
          show: (row) => [count(row.findings), row.findings ? "warn" : "soft"],
        },
        { key: "address", title: "Address", width: "minmax(110px, 1fr)", show: (row) => row.address || NONE },
      ],
      {
        open: (row) => go({ edge: row.name, view: "", pick: [] }),
        empty: "No edge has enrolled, and the desired state has none.",
      },
    );
    this.table.element.classList.add("tall");
    this.element = el("div", { className: "stack" }, this.table.element);
  }

  update({ fleet, now }) {
    this.now = now;
    this.table.show([...fleet.values()]);
  }
}
