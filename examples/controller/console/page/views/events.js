// What happened.

import { el } from "../dom.js";
import { moment, NONE } from "../format.js";
import { go } from "../state.js";
import { local } from "./rows.js";

export class Events {
  constructor(all) {
    this.all = all;
    const columns = [
      { key: "time", title: "Time", width: "176px", show: (row) => moment(row.time) },
      { key: "edge", title: "Edge", width: "minmax(90px, 0.5fr)", show: (row) => row.edge },
      { key: "pipeline", title: "Pipeline", width: "110px", show: (row) => row.pipeline || NONE },
      { key: "sort", title: "Of", width: "76px", show: (row) => row.sort },
      {
        key: "text",
        title: "What happened",
        width: "minmax(200px, 3fr)",
        show: (row) => [row.text, /dead|unreachable|gone|left out/.test(row.text) ? "bad" : ""],
      },
    ];
    this.table = local("Events", columns, {
      open: (row) => go({ edge: row.edge, t: row.time }),
      empty: "Nothing has happened since the console began to look.",
    });
    this.table.sortBy("time", true);
    this.table.element.classList.add("tall");
    this.kind = el(
      "select",
      { "aria-label": "Of what" },
      ...["", "edge", "pipeline", "rules", "port", "overlay", "packet", "missed"].map((each) =>
        el("option", { value: each }, each || "everything"),
      ),
    );
    this.kind.onchange = () => this.update(this.context);
    this.element = el(
      "div",
      { className: "stack" },
      el(
        "div",
        { className: "bar" },
        this.kind,
        el("span", { className: "soft" }, "A row leads to its edge at that time."),
      ),
      this.table.element,
    );
  }

  update(context) {
    this.context = context;
    const { events, state } = context;
    this.table.show(
      events.filter(
        (each) =>
          (this.all || each.edge === state.edge) &&
          (!this.kind.value || each.sort === this.kind.value) &&
          (!state.t || each.time <= state.t + 1),
      ),
    );
  }
}
