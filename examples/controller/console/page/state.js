// What is looked at: in the address behind `#`, so that it can be linked to and gone back to.

export const SPANS = [
  [60, "1 min"],
  [300, "5 min"],
  [900, "15 min"],
  [3600, "1 h"],
  [21600, "6 h"],
  [86400, "24 h"],
];
const DEFAULTS = { edge: "", view: "", t: 0, span: 300, pipeline: "", pick: [] };
const watchers = [];

export let state = { ...DEFAULTS };

export function read() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const span = Number(asked.get("span"));
  const t = Number(asked.get("t"));
  state = {
    edge: asked.get("edge") ?? "",
    view: asked.get("view") ?? "",
    pipeline: asked.get("pipeline") ?? "",
    t: Number.isFinite(t) && t > 0 ? t : 0,
    span: SPANS.some(([each]) => each === span) ? span : DEFAULTS.span,
    pick: asked.getAll("pick").slice(0, 8),
  };
}

export function address(changes = {}) {
  const next = { ...state, ...changes };
  const made = new URLSearchParams();
  for (const name of ["edge", "view", "pipeline"]) if (next[name]) made.set(name, next[name]);
  if (next.t) made.set("t", String(Math.round(next.t)));
  if (next.span !== DEFAULTS.span) made.set("span", String(next.span));
  for (const each of next.pick) made.append("pick", each);
  return `#${made}`;
}

export function go(changes, replace = false) {
  const url = address(changes);
  if (url === (location.hash || "#")) return;
  history[replace ? "replaceState" : "pushState"](null, "", url);
  changed();
}

export function watch(callback) {
  watchers.push(callback);
}

export function changed() {
  const before = state;
  read();
  for (const callback of watchers) callback(state, before);
}

addEventListener("popstate", changed);
