// The page: the fleet at the left, an edge and its views at the right, all of it live.

import { byId, el, text } from "./dom.js";
import { ago, clock, count, moment } from "./format.js";
import { Graph } from "./graph.js";
import { drawList, drawTotals } from "./list.js";
import { ask, beginByAddress, Live, Refused } from "./live.js";
import { address, changed, go, read, SPANS, state, watch } from "./state.js";
import { Events } from "./views/events.js";
import { Fleet } from "./views/fleet.js";
import { Overlays } from "./views/overlays.js";
import { Ports } from "./views/ports.js";
import { Sessions } from "./views/sessions.js";
import { Slices } from "./views/slices.js";

const EDGE = [
  ["", "Ports", () => new Ports()],
  ["overlays", "Overlays", () => new Overlays(false)],
  ["stamp", "STAMP", () => new Sessions()],
  ["slices", "Slices & queues", () => new Slices()],
  ["pipeline", "Pipeline", () => new Graph()],
  ["events", "Events", () => new Events(false)],
];
const FLEET = [
  ["", "Edges", () => new Fleet()],
  ["overlays", "Overlays", () => new Overlays(true)],
  ["events", "Events", () => new Events(true)],
];
const MOST_EVENTS = 2000;

const fleet = new Map();
let edge = null; // as it is now
let past = null; // as it was at `state.t`
let events = [];
let period = 2;
let heard = 0; // when the controller was heard, by this machine's clock
let behind = 0; // seconds that the controller's clock is ahead of this one
let live = null;
let view = null;
let viewKey = "";

const here = () => Date.now() / 1000;
const now = () => here() + behind;

// ---- what comes --------------------------------------------------------------------------------

const handlers = {
  hello(said) {
    period = said.period;
  },
  fleet(said) {
    heard = here();
    behind = said.now - heard;
    if (said.names) {
      const there = new Set(said.names);
      for (const name of fleet.keys()) if (!there.has(name)) fleet.delete(name);
    }
    for (const row of said.edges) fleet.set(row.name, row);
    if (!state.edge) draw();
    else drawAround();
  },
  edge(said) {
    if (said.name !== state.edge) return;
    edge = said;
    if (!state.t) draw();
  },
  events(said) {
    const last = events.at(-1)?.number ?? 0;
    events = events.concat(said.filter((each) => each.number > last)).slice(-MOST_EVENTS);
    if (said.length && said[0].number === 1 && last > said.at(-1).number) events = said; // it was started anew
    if (state.view === "events") draw();
  },
  lost() {
    drawBanner();
  },
};

function follow() {
  if (live?.edge === state.edge) return;
  live?.close();
  edge = null;
  live = new Live(state.edge, handlers);
}

async function look() {
  past = null;
  if (!state.edge || !state.t) return;
  const { edge: name, t } = state;
  const found = await ask("edge", { edge: name, t });
  if (state.edge === name && state.t === t) {
    past = found;
    draw();
  }
}

// ---- what is drawn -----------------------------------------------------------------------------

function draw() {
  drawAround();
  const shown = state.t ? past : edge;
  const views = state.edge ? EDGE : FLEET;
  const chosen = views.find(([name]) => name === state.view) ?? views[0];
  const key = `${state.edge ? "edge" : "fleet"}/${chosen[0]}`;
  if (key !== viewKey) {
    viewKey = key;
    view = chosen[2]();
    byId("view").replaceChildren(el("p", { id: "nothing", className: "empty" }), view.element);
    drawTabs(views, chosen[0]);
  }
  drawHead();
  const empty = state.edge && !shown?.tables;
  byId("view").classList.toggle("waiting", Boolean(empty));
  byId("nothing").hidden = !empty;
  if (empty) {
    const known = fleet.get(state.edge);
    text(
      byId("nothing"),
      !known ? "" : known.heard ? "Loading …" : "Nothing is known of this edge yet: its agent has not answered.",
    );
    return;
  }
  const to = state.t ? state.t + state.span * 0.1 : (shown?.time ?? now());
  view.update({ state, edge: shown, fleet, events, now: now(), from: to - state.span, to, live: !state.t });
}

function drawAround() {
  drawTotals(fleet);
  drawList(fleet, now());
  drawBanner();
}

function drawTabs(views, chosen) {
  byId("tabs").replaceChildren(
    ...views.map(([name, title]) => {
      const made = el(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${name}`,
          "aria-selected": String(name === chosen),
          tabIndex: name === chosen ? 0 : -1,
        },
        title,
      );
      made.onclick = () => go({ view: name, pick: [] });
      return made;
    }),
  );
  byId("view").setAttribute("aria-labelledby", `tab-${chosen}`);
}

byId("tabs").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const tabs = [...byId("tabs").children];
  const next = tabs[(tabs.findIndex((each) => each.ariaSelected === "true") + step + tabs.length) % tabs.length];
  next.click();
  byId(next.id)?.focus();
});

function drawHead() {
  const head = byId("head");
  if (!state.edge) {
    head.replaceChildren(el("h2", {}, "All edges"));
    return;
  }
  const known = fleet.get(state.edge) ?? edge;
  if (!known) {
    head.replaceChildren(
      el("h2", {}, state.edge),
      el("p", { className: "bad" }, fleet.size ? "There is no such edge." : "Loading …"),
    );
    return;
  }
  const parts = [
    el("h2", {}, state.edge),
    el("span", { className: known.state === "reachable" ? "good" : "bad" }, known.state),
  ];
  const said = (label, value) => parts.push(el("span", { className: "soft" }, `${label} `, el("b", {}, value)));
  said("at", known.address || "an unknown address");
  const shown = (state.t ? past : edge) ?? {};
  if (shown.facts?.version) said("agent", shown.facts.version);
  if (shown.facts?.started) said("for", ago(now() - shown.facts.started));
  for (const [name, facts] of Object.entries(shown.of ?? {})) said(name, `revision ${count(facts.revision)}`);
  const findings = [
    ...(shown.facts?.findings ?? []),
    ...Object.values(shown.of ?? {}).flatMap((facts) => facts.findings),
  ];
  head.replaceChildren(
    ...parts,
    ...findings
      .slice(0, 4)
      .map((each) =>
        el("p", { className: each.warning ? "finding warn" : "finding bad" }, `${each.code} ${each.title}`),
      ),
  );
}

// What is not as it seems: nothing comes from the controller, the edge does not answer, the past is shown.
function drawBanner() {
  const lines = [];
  const stale = heard && here() - heard > 3 * period + 2;
  document.body.classList.toggle("stale", Boolean(stale));
  if (stale)
    lines.push(
      `The controller has not been heard since ${clock(heard + behind)}, ${ago(here() - heard)} ago. What is shown is from then; it is asked again.`,
    );
  const row = fleet.get(state.edge);
  if (row?.state === "unreachable") {
    const last = row.heard ? ` What is shown is from ${clock(row.heard)}.` : " It has not answered yet.";
    lines.push(
      `${row.name} has not answered since ${clock(row.since)}, for ${ago(now() - row.since)}: ${row.why}.${last}`,
    );
  }
  if (state.t) {
    const taken = past?.time
      ? ` Numbers are those of ${clock(past.time)};`
      : past
        ? " Nothing is remembered of that time;"
        : " Numbers are being looked for;";
    lines.push(`This is the past: ${moment(state.t)}.${taken} states and facts are those of now.`);
  }
  const banner = byId("banner");
  banner.hidden = !lines.length;
  banner.className = stale || row?.state === "unreachable" ? "bad" : "past";
  text(banner, lines.join("\n"));
  const connection = byId("connection");
  text(connection, !heard ? "connecting …" : stale ? "no connection" : state.t ? "past" : `live, each ${period} s`);
  connection.className = stale ? "bad" : state.t ? "warn" : heard ? "good" : "";
  byId("live").hidden = !state.t;
}

// ---- what is done ------------------------------------------------------------------------------

byId("find").oninput = () => drawList(fleet, now());
byId("live").onclick = () => go({ t: 0 });
byId("span").replaceChildren(...SPANS.map(([seconds, label]) => el("option", { value: String(seconds) }, label)));
byId("span").onchange = (event) => go({ span: Number(event.target.value) });
byId("link").onclick = async () => {
  const url = new URL(address({ t: state.t || now() }), location.href).href;
  const button = byId("link");
  try {
    await navigator.clipboard.writeText(url);
    text(button, "Copied");
  } catch {
    prompt("The link to this moment", url);
  }
  setTimeout(() => text(button, "Copy link"), 1500);
};

addEventListener("hashchange", changed);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  viewKey = "";
  draw();
});
addEventListener("unhandledrejection", (event) => {
  if (event.reason instanceof Refused) text(byId("banner"), event.reason.message);
});
setInterval(drawBanner, 1000);

watch((next, before) => {
  byId("span").value = String(next.span);
  follow();
  if (next.t !== before.t || next.edge !== before.edge) look();
  draw();
});

await beginByAddress();
read();
byId("span").value = String(state.span);
await ask("overlays", { count: 1 }); // asks for the token, where one is needed
follow();
look();
draw();
