// Sessions of STAMP, and how often each delay was measured.

import { el } from "../dom.js";
import { count } from "../format.js";
import { ask } from "../live.js";
import { Feed, Histogram, Plot } from "../plots.js";
import { go } from "../state.js";
import { rowsOf, cut, column, local } from "./rows.js";

export class Sessions {
  constructor() {
    this.feed = new Feed();
    this.plots = [
      new Plot("Round trip", "s"),
      new Plot("There and back", "s"),
      new Plot("Jitter of the round trip", "s"),
      new Plot("Loss", "ratio"),
    ];
    this.histogram = new Histogram("Histogram of round trips");
    const fact = (key, title, width = "76px", show = count) => ({
      key,
      title,
      width,
      right: true,
      value: (row) => row.fact[key],
      show: (row) => show(row.fact[key]),
    });
    const bad = (key, title) => fact(key, title, "72px", (n) => [count(n), n ? "warn" : "soft"]);
    this.table = local(
      "Sessions of STAMP",
      [
        { ...fact("ssid", "SSID", "60px", String), right: true },
        { key: "item", title: "Session", width: "minmax(110px, 1fr)", show: (row) => row.item },
        {
          key: "reflector",
          title: "Reflector",
          width: "minmax(110px, 1fr)",
          value: (row) => row.fact.reflector,
          show: (row) => row.fact.reflector,
        },
        {
          key: "running",
          title: "State",
          width: "80px",
          value: (row) => row.fact.running,
          show: (row) =>
            row.fact.why ? [row.fact.why, "bad"] : row.fact.running ? ["running", "good"] : ["stopped", "soft"],
        },
        column("round_trip", "Round trip", "s"),
        column("forward", "There", "s"),
        column("backward", "Back", "s"),
        column("jitter", "Jitter", "s"),
        column("loss", "Loss", "ratio", "72px"),
        fact("sent", "Sent"),
        fact("answered", "Answered"),
        bad("lost", "Lost"),
        bad("late", "Late"),
        bad("duplicates", "Twice"),
        { ...bad("reordered", "Reordered"), width: "88px" },
        bad("invalid", "Invalid"),
      ],
      {
        open: (row) =>
          go(
            {
              pick:
                this.picked.includes(row.item) && this.picked.length > 1
                  ? this.picked.filter((each) => each !== row.item)
                  : [row.item],
            },
            true,
          ),
        picked: (row) => this.picked.includes(row.item),
        empty: "The agent has no session of STAMP: `helioctl stamp create`.",
      },
    );
    this.picked = [];
    this.element = el(
      "div",
      { className: "stack" },
      this.table.element,
      el("div", { className: "plots" }, ...this.plots.map((plot) => plot.element), this.histogram.element),
    );
  }

  update({ edge, state, from, to, live }) {
    const rows = rowsOf(edge, "session");
    const known = new Set(rows.map((row) => row.item));
    const chosen = state.pick.filter((name) => known.has(name));
    this.picked = chosen.length ? chosen : cut(rows, 1).map((row) => row.item);
    this.table.show(rows);
    const picked = rows.filter((row) => this.picked.includes(row.item));
    const lines = (...quantities) =>
      picked.flatMap((row) =>
        quantities.map((q) => [
          quantities.length > 1 ? `${row.item} ${q === "forward" ? "there" : "back"}` : row.item,
          [row.pipeline, "session", row.item, q],
        ]),
      );
    [lines("round_trip"), lines("forward", "backward"), lines("jitter"), lines("loss")].forEach((each, n) =>
      this.plots[n].set(edge.name, cut(each)),
    );
    this.feed.update(edge.name, this.plots, from, to, live);
    if (picked.length) this.delays(edge, picked[0], state, to - from);
    else this.histogram.empty("No session is chosen.");
  }

  async delays(edge, row, state, span) {
    const minutes = Math.max(1, Math.min(60, Math.round(span / 60)));
    const found = await ask("histogram", {
      edge: edge.name,
      pipeline: row.pipeline,
      ssid: row.fact.ssid,
      minutes,
      t: state.t,
    });
    this.histogram.draw(row.item, found);
  }
}
