// The views of the page. Each has `element`, and `update(context)` for each change.
//
// context: state; edge (as /api/edge has it, or null), fleet (rows by name), events, from, to, live.

import { el, text } from "./dom.js";
import { ago, clock, count, duration, moment, NONE, quantity, ratio, si } from "./format.js";
import { ask } from "./live.js";
import { Feed, Histogram, Plot } from "./plots.js";
import { go } from "./state.js";
import { sorted, Table } from "./table.js";

export const rowsOf = (edge, group, pipeline = "") => (edge?.tables ?? [])
  .filter((table) => table.group === group && (!pipeline || table.pipeline === pipeline))
  .flatMap((table) => table.rows.map(([item, values, facts]) => ({
    pipeline: table.pipeline, item,
    ...Object.fromEntries(table.quantities.map((name, n) => [name, values[n]])),
    fact: Object.fromEntries(table.facts.map((name, n) => [name, facts[n]])),
  })));

const looks = { alive: "good", up: "good", reachable: "good", active: "good", dead: "bad", unreachable: "bad",
  gone: "bad", "no carrier": "bad", "no program": "bad", failed: "bad", down: "warn", unknown: "soft" };
const status = (name) => [name, looks[name] ?? ""];
const cut = (rows, most = 8) => rows.slice(0, most);
const column = (key, title, unit, width = "92px") => ({ key, title, width, right: true, show: (row) => quantity(row[key], unit) });

// A table whose rows are all here, sorted as one likes.
function local(label, columns, options) {
  const made = new Table(label, columns, { ...options, onsort: () => made.show(made.given) });
  made.show = (rows) => {
    made.given = rows;
    made.set(sorted(rows, made));
  };
  return made;
}

// ---- the fleet ------------------------------------------------------------------------------

export class Fleet {
  constructor() {
    this.table = local("Edges", [
      { key: "name", title: "Edge", width: "minmax(120px, 1.4fr)", show: (row) => row.name },
      { key: "state", title: "Agent", width: "110px", show: (row) => status(row.state) },
      { key: "since", title: "Since", width: "76px", right: true, show: (row) => ago(this.now - row.since), value: (row) => -row.since },
      column("packets", "Packets in", "packets/s", "110px"), column("bits", "Traffic in", "bit/s", "110px"),
      column("drops", "Port drops", "packets/s", "100px"),
      { key: "alive", title: "Overlays", width: "90px", right: true, value: (row) => row.overlays.alive + row.overlays.unknown, show: (row) => count(row.overlays.alive + row.overlays.unknown + row.overlays.dead) },
      { key: "dead", title: "Dead", width: "66px", right: true, value: (row) => row.overlays.dead, show: (row) => [count(row.overlays.dead), row.overlays.dead ? "bad" : "soft"] },
      column("delay", "Worst delay alive", "s", "136px"), column("loss", "Worst loss alive", "ratio", "126px"),
      { key: "findings", title: "Findings", width: "84px", right: true, show: (row) => [count(row.findings), row.findings ? "warn" : "soft"] },
      { key: "address", title: "Address", width: "minmax(110px, 1fr)", show: (row) => row.address || NONE },
    ], { open: (row) => go({ edge: row.name, view: "", pick: [] }), empty: "No edge has enrolled, and the desired state has none." });
    this.table.element.classList.add("tall");
    this.element = el("div", { className: "stack" }, this.table.element);
  }

  update({ fleet, now }) {
    this.now = now;
    this.table.show([...fleet.values()]);
  }
}

// ---- ports and counters ---------------------------------------------------------------------

export class Ports {
  constructor() {
    this.feed = new Feed();
    this.plots = [new Plot("Traffic in", "bit/s"), new Plot("Traffic out", "bit/s"), new Plot("Packets in", "packets/s"),
      new Plot("Verdicts", "packets/s")];
    this.ports = local("Ports", [
      { key: "item", title: "Port", width: "minmax(90px, 1fr)", show: (row) => row.item },
      { key: "role", title: "Role", width: "70px", value: (row) => row.fact.role, show: (row) => row.fact.role },
      { key: "interface", title: "Interface", width: "90px", value: (row) => row.fact.interface, show: (row) => row.fact.interface },
      { key: "state", title: "State", width: "90px", value: (row) => row.fact.state, show: (row) => status(row.fact.state) },
      column("rx_packets", "Packets in", "packets/s", "104px"), column("rx_bits", "Traffic in", "bit/s", "110px"), column("rx_drops", "Drops in", "packets/s"),
      column("tx_packets", "Packets out", "packets/s", "104px"), column("tx_bits", "Traffic out", "bit/s", "110px"), column("tx_drops", "Drops out", "packets/s"),
    ], { empty: "No port." });
    this.counters = local("What happened to packets", [
      { key: "item", title: "What happened to packets", width: "minmax(140px, 1fr)", show: (row) => [row.item, /^(drop|malformed|miss)/.test(row.item) ? "warn" : ""] },
      column("packets", "Now", "packets/s"),
      { key: "total", title: "In all", width: "110px", right: true, value: (row) => row.fact.total, show: (row) => count(row.fact.total) },
    ], { empty: "Nothing was counted." });
    this.kinds = local("Rules by kind", [
      { key: "item", title: "Rule kind", width: "minmax(90px, 1fr)", show: (row) => row.item },
      column("packets", "Packets", "packets/s"), column("bits", "Traffic", "bit/s", "104px"),
      { key: "rules", title: "Rules", width: "120px", right: true, value: (row) => row.fact.rules, show: (row) => `${count(row.fact.rules)} of ${count(row.fact.capacity)}` },
    ], { empty: "No rule kind." });
    this.element = el("div", { className: "stack" }, this.ports.element,
      el("div", { className: "plots" }, ...this.plots.map((plot) => plot.element)),
      el("div", { className: "pair" }, this.counters.element, this.kinds.element));
  }

  update({ edge, from, to, live }) {
    const ports = rowsOf(edge, "port");
    this.ports.show(ports);
    this.counters.show(rowsOf(edge, "counter").filter((row) => row.fact.total > 0));
    this.kinds.show(rowsOf(edge, "kind"));
    const lines = (quantity) => cut(ports).map((row) => [row.item, [row.pipeline, "port", row.item, quantity]]);
    const verdicts = rowsOf(edge, "counter").filter((row) => row.item.startsWith("verdict: "));
    const by = [lines("rx_bits"), lines("tx_bits"), lines("rx_packets"),
      cut(verdicts).map((row) => [row.item.slice(9), [row.pipeline, "counter", row.item, "packets"]])];
    this.plots.forEach((plot, n) => plot.set(edge.name, by[n]));
    this.feed.update(edge.name, this.plots, from, to, live);
  }
}

// ---- overlays -------------------------------------------------------------------------------

const OVERLAY = [["delay", "Delay", "s"], ["jitter", "Jitter", "s"], ["loss", "Loss", "ratio"], ["share", "Flow share, by packets", "ratio"]];

export class Overlays {
  constructor(all) {
    this.all = all;
    this.asked = { first: 0, count: 60, sort: "name", falling: false, text: "", state: "" };
    this.feed = new Feed();
    this.plots = OVERLAY.map(([, title, unit]) => new Plot(title, unit));
    const edge = all ? [{ key: "edge", title: "Edge", width: "minmax(110px, 1fr)", show: (row) => row[0] }] : [];
    const value = (n, unit) => (row) => quantity(row[3][n], unit);
    this.table = new Table("Overlays", [...edge,
      { key: "name", title: "Overlay", width: "minmax(130px, 1.6fr)", show: (row) => row[2] },
      { key: "state", title: "State", width: "90px", show: (row) => status(row[4][2]) },
      { key: "since", title: "Since", width: "70px", right: true, sort: false, show: (row) => (row[4][3] ? ago(this.now - row[4][3]) : NONE) },
      { key: "delay", title: "Delay", width: "92px", right: true, show: value(0, "s") },
      { key: "jitter", title: "Jitter", width: "92px", right: true, show: value(1, "s") },
      { key: "loss", title: "Loss", width: "76px", right: true, show: (row) => [ratio(row[3][2]), row[3][2] > 0.01 ? "warn" : ""] },
      { key: "share", title: "Share", width: "76px", right: true, show: value(5, "ratio") },
      { key: "packets", title: "Packets", width: "92px", right: true, show: value(3, "packets/s") },
      { key: "bits", title: "Traffic", width: "104px", right: true, show: value(4, "bit/s") },
      { key: "by", title: "Measured by", width: "minmax(110px, 1fr)", sort: false, show: (row) => row[4][4] || NONE },
    ], {
      open: (row) => this.pick(row), picked: (row) => !all && this.picked.includes(row[2]),
      onsort: (sort, falling) => this.ask({ sort, falling, first: 0 }),
      empty: "No overlay fits. Overlays are measured where the edge's YAML has `liveness`, or a STAMP session has their name.",
    });
    this.table.sortBy("name", false);
    this.table.element.classList.add(all ? "tall" : "half");
    const find = el("input", { type: "search", placeholder: "Find an overlay", "aria-label": "Find an overlay", autocomplete: "off" });
    find.oninput = () => this.ask({ text: find.value, first: 0 });
    const state = el("select", { "aria-label": "State" }, ...["", "alive", "dead", "unknown"].map((each) => el("option", { value: each }, each || "every state")));
    state.onchange = () => this.ask({ state: state.value, first: 0 });
    this.number = el("span", { className: "soft" });
    const hint = el("span", { className: "soft" }, all ? "A row leads to its edge." : "A click plots an overlay, or takes it away: up to eight.");
    this.element = el("div", { className: "stack" }, el("div", { className: "bar" }, find, state, this.number, hint), this.table.element,
      ...(all ? [] : [el("div", { className: "plots" }, ...this.plots.map((plot) => plot.element))]));
    this.picked = [];
  }

  pick(row) {
    const [edge, , name] = row;
    if (this.all) {
      go({ edge, view: "overlays", pick: [name] });
      return;
    }
    const now = this.picked.includes(name) ? this.picked.filter((each) => each !== name) : [...this.picked, name].slice(-8);
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
    this.table.set(found.rows, found.all, found.first, (first, number) => this.ask({ first, count: Math.max(60, number + 20) }));
    if (!this.all && this.due) this.plot(found.rows);
    this.due = false;
  }

  // Without a choice the first rows of the table are drawn.
  plot(rows) {
    const { state, edge, from, to, live } = this.context;
    const names = new Map((this.top ?? rows).map((row) => [row[2], row[1]]));
    for (const row of rows) names.set(row[2], row[1]);
    this.picked = state.pick.length ? state.pick : cut((this.top ?? rows).map((row) => row[2]), 5);
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

// ---- STAMP ----------------------------------------------------------------------------------

export class Sessions {
  constructor() {
    this.feed = new Feed();
    this.plots = [new Plot("Round trip", "s"), new Plot("There and back", "s"), new Plot("Jitter of the round trip", "s"), new Plot("Loss", "ratio")];
    this.histogram = new Histogram("Histogram of round trips");
    const fact = (key, title, width = "76px", show = count) => ({ key, title, width, right: true, value: (row) => row.fact[key], show: (row) => show(row.fact[key]) });
    const bad = (key, title) => fact(key, title, "72px", (n) => [count(n), n ? "warn" : "soft"]);
    this.table = local("Sessions of STAMP", [
      { ...fact("ssid", "SSID", "60px", String), right: true },
      { key: "item", title: "Session", width: "minmax(110px, 1fr)", show: (row) => row.item },
      { key: "reflector", title: "Reflector", width: "minmax(110px, 1fr)", value: (row) => row.fact.reflector, show: (row) => row.fact.reflector },
      { key: "running", title: "State", width: "80px", value: (row) => row.fact.running, show: (row) => (row.fact.why ? [row.fact.why, "bad"] : row.fact.running ? ["running", "good"] : ["stopped", "soft"]) },
      column("round_trip", "Round trip", "s"), column("forward", "There", "s"), column("backward", "Back", "s"), column("jitter", "Jitter", "s"), column("loss", "Loss", "ratio", "72px"),
      fact("sent", "Sent"), fact("answered", "Answered"), bad("lost", "Lost"), bad("late", "Late"), bad("duplicates", "Twice"), { ...bad("reordered", "Reordered"), width: "88px" }, bad("invalid", "Invalid"),
    ], {
      open: (row) => go({ pick: this.picked.includes(row.item) && this.picked.length > 1 ? this.picked.filter((each) => each !== row.item) : [row.item] }, true),
      picked: (row) => this.picked.includes(row.item), empty: "The agent has no session of STAMP: `helioctl stamp create`.",
    });
    this.picked = [];
    this.element = el("div", { className: "stack" }, this.table.element,
      el("div", { className: "plots" }, ...this.plots.map((plot) => plot.element), this.histogram.element));
  }

  update({ edge, state, from, to, live }) {
    const rows = rowsOf(edge, "session");
    const known = new Set(rows.map((row) => row.item));
    const chosen = state.pick.filter((name) => known.has(name));
    this.picked = chosen.length ? chosen : cut(rows, 1).map((row) => row.item);
    this.table.show(rows);
    const picked = rows.filter((row) => this.picked.includes(row.item));
    const lines = (...quantities) => picked.flatMap((row) => quantities.map((q) => [quantities.length > 1 ? `${row.item} ${q === "forward" ? "there" : "back"}` : row.item, [row.pipeline, "session", row.item, q]]));
    [lines("round_trip"), lines("forward", "backward"), lines("jitter"), lines("loss")].forEach((each, n) => this.plots[n].set(edge.name, cut(each)));
    this.feed.update(edge.name, this.plots, from, to, live);
    if (picked.length) this.delays(edge, picked[0], state, to - from);
    else this.histogram.empty("No session is chosen.");
  }

  async delays(edge, row, state, span) {
    const minutes = Math.max(1, Math.min(60, Math.round(span / 60)));
    const found = await ask("histogram", { edge: edge.name, pipeline: row.pipeline, ssid: row.fact.ssid, minutes, t: state.t });
    this.histogram.draw(row.item, found);
  }
}

// ---- slices, queues and rules ---------------------------------------------------------------

export class Slices {
  constructor() {
    this.feed = new Feed();
    this.plots = [new Plot("Packets of slices", "packets/s"), new Plot("Traffic of slices", "bit/s"), new Plot("Diverted from queues", "ratio"), new Plot("Busiest rules", "packets/s")];
    this.queue = el("p", { className: "said" });
    this.slices = local("Slices", [
      { key: "item", title: "Slice (intent)", width: "minmax(120px, 1fr)", show: (row) => row.item },
      { key: "state", title: "State", width: "84px", value: (row) => row.fact.state, show: (row) => status(row.fact.state) },
      column("packets", "Packets", "packets/s"), column("bits", "Traffic", "bit/s", "104px"),
      { key: "why", title: "Why", width: "minmax(80px, 1fr)", sort: false, show: (row) => row.fact.why || NONE },
    ], { empty: "The agent has no intents: `helioctl intent apply`." });
    this.rules = local("Busiest rules", [
      { key: "item", title: "Busiest rules", width: "minmax(120px, 1fr)", show: (row) => row.item },
      column("packets", "Packets", "packets/s"), column("bits", "Traffic", "bit/s", "104px"),
    ], { empty: "No rule counts, or there are more than are read." });
    this.rules.sortBy("packets", true);
    this.states = local("State tables", [
      { key: "item", title: "State table", width: "minmax(100px, 1fr)", show: (row) => row.item },
      { key: "entries", title: "Entries", width: "150px", right: true, show: (row) => `${count(row.entries)} of ${count(row.fact.capacity)}` },
    ], { empty: "The pipeline has no state tables." });
    this.element = el("div", { className: "stack" }, this.queue, el("div", { className: "pair" }, this.slices.element, this.rules.element),
      el("div", { className: "plots" }, ...this.plots.map((plot) => plot.element)), this.states.element);
  }

  update({ edge, from, to, live, now }) {
    const watched = Object.entries(edge.of ?? {}).filter(([, facts]) => facts.congestion);
    const said = watched.map(([name, { congestion: c }]) => `${name}: ${c.congested ? `congested for ${ago(now - c.since)}: ${c.why}` : `queues are not congested (${ago(now - c.since)})`}`);
    text(this.queue, said.join("  ") || "Nobody watches the queues of this host: `congestion` in the edge's YAML.");
    this.queue.className = `said${watched.some(([, f]) => f.congestion.congested) ? " bad" : ""}`;
    const slices = rowsOf(edge, "slice");
    const rules = rowsOf(edge, "rule");
    const queues = rowsOf(edge, "queue");
    this.slices.show(slices);
    this.rules.show(rules);
    this.states.show(rowsOf(edge, "state"));
    const lines = (rows, group, quantity) => cut(rows).map((row) => [row.item, [row.pipeline, group, row.item, quantity]]);
    const busy = rules.toSorted((a, b) => (b.packets ?? -1) - (a.packets ?? -1));
    this.busy = live && this.busy?.edge === edge.name && this.busy.until > now ? this.busy : { edge: edge.name, until: now + 30, rows: cut(busy, 6) };
    [lines(slices, "slice", "packets"), lines(slices, "slice", "bits"), lines(queues, "queue", "diverted"), lines(this.busy.rows, "rule", "packets")].forEach((each, n) => this.plots[n].set(edge.name, each));
    this.feed.update(edge.name, this.plots, from, to, live);
  }
}

// ---- events ---------------------------------------------------------------------------------

export class Events {
  constructor(all) {
    this.all = all;
    const columns = [
      { key: "time", title: "Time", width: "176px", show: (row) => moment(row.time) },
      { key: "edge", title: "Edge", width: "minmax(90px, 0.5fr)", show: (row) => row.edge },
      { key: "pipeline", title: "Pipeline", width: "110px", show: (row) => row.pipeline || NONE },
      { key: "sort", title: "Of", width: "76px", show: (row) => row.sort },
      { key: "text", title: "What happened", width: "minmax(200px, 3fr)", show: (row) => [row.text, /dead|unreachable|gone|left out/.test(row.text) ? "bad" : ""] },
    ];
    this.table = local("Events", columns, { open: (row) => go({ edge: row.edge, t: row.time }), empty: "Nothing has happened since the console began to look." });
    this.table.sortBy("time", true);
    this.table.element.classList.add("tall");
    this.kind = el("select", { "aria-label": "Of what" }, ...["", "edge", "pipeline", "rules", "port", "overlay", "packet", "missed"].map((each) => el("option", { value: each }, each || "everything")));
    this.kind.onchange = () => this.update(this.context);
    this.element = el("div", { className: "stack" }, el("div", { className: "bar" }, this.kind, el("span", { className: "soft" }, "A row leads to its edge at that time.")), this.table.element);
  }

  update(context) {
    this.context = context;
    const { events, state } = context;
    this.table.show(events.filter((each) => (this.all || each.edge === state.edge) && (!this.kind.value || each.sort === this.kind.value) && (!state.t || each.time <= state.t + 1)));
  }
}
