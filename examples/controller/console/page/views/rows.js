// What the views share: rows of an edge's tables, columns, and tables whose rows are all here.
//
// A view has `element`, and `update(context)` for each change. context: state; edge (as /api/edge has it, or null),
// fleet (rows by name), events; now, from and to in seconds of the Unix epoch; live: it is the present.

import { quantity } from "../format.js";
import { sorted, Table } from "../table.js";

export const rowsOf = (edge, group, pipeline = "") =>
  (edge?.tables ?? [])
    .filter((table) => table.group === group && (!pipeline || table.pipeline === pipeline))
    .flatMap((table) =>
      table.rows.map(([item, values, facts]) => ({
        pipeline: table.pipeline,
        item,
        ...Object.fromEntries(table.quantities.map((name, n) => [name, values[n]])),
        fact: Object.fromEntries(table.facts.map((name, n) => [name, facts[n]])),
      })),
    );

const looks = {
  alive: "good",
  up: "good",
  reachable: "good",
  active: "good",
  dead: "bad",
  unreachable: "bad",
  gone: "bad",
  "no carrier": "bad",
  "no program": "bad",
  failed: "bad",
  down: "warn",
  unknown: "soft",
};
export const status = (name) => [name, looks[name] ?? ""];
export const cut = (rows, most = 8) => rows.slice(0, most);
export const column = (key, title, unit, width = "92px") => ({
  key,
  title,
  width,
  right: true,
  show: (row) => quantity(row[key], unit),
});

// A table whose rows are all here, sorted as one likes.
export function local(label, columns, options) {
  const made = new Table(label, columns, { ...options, onsort: () => made.show(made.given) });
  made.show = (rows) => {
    made.given = rows;
    made.set(sorted(rows, made));
  };
  return made;
}
