// The connection to the controller: data as JSON, what changes as server-sent events, and the token.

import { byId } from "./dom.js";

export class Refused extends Error {}

export async function ask(path, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== "" && value !== 0 && value !== false) query.set(name, value === true ? "1" : value);
  }
  const answer = await fetch(`api/${path}?${query}`, { credentials: "same-origin" });
  if (answer.status === 401) {
    await login();
    return ask(path, parameters);
  }
  if (!answer.ok) throw new Refused((await answer.json()).title);
  return answer.json();
}

async function begin(token) {
  const answer = await fetch("api/session", {
    method: "POST",
    body: JSON.stringify({ token }),
    headers: { "Content-Type": "application/json" },
  });
  return answer.ok ? "" : (await answer.json()).title;
}

// A token in the address (`#token=`) is used and taken out of it, so that no link has it.
export async function beginByAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const token = asked.get("token");
  if (token === null) return;
  asked.delete("token");
  history.replaceState(null, "", `#${asked}`);
  await begin(token);
}

let asking = null;

export function login() {
  asking ??= new Promise((resolve) => {
    const dialog = byId("login");
    const input = byId("token");
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    dialog.querySelector("form").onsubmit = async (event) => {
      event.preventDefault();
      const wrong = await begin(input.value).catch(() => "the controller does not answer");
      byId("login-error").textContent = wrong;
      if (wrong) return;
      input.value = "";
      dialog.close();
      asking = null;
      resolve();
    };
    dialog.showModal();
  });
  return asking;
}

// Follows an edge (empty: the fleet alone) until it is closed. `handlers`: by event; and `lost`.
export class Live {
  constructor(edge, handlers) {
    this.edge = edge;
    this.handlers = handlers;
    this.closed = false;
    this.open();
  }

  open() {
    const query = this.edge ? `?${new URLSearchParams({ edge: this.edge })}` : "";
    this.source = new EventSource(`api/live${query}`);
    for (const name of ["hello", "fleet", "edge", "events"]) {
      this.source.addEventListener(name, (event) => {
        if (!this.closed) this.handlers[name](JSON.parse(event.data));
      });
    }
    this.source.onerror = () => this.failed();
  }

  async failed() {
    if (this.closed) return;
    this.handlers.lost();
    if (this.source.readyState !== EventSource.CLOSED) return; // it tries again by itself
    this.source.close();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await ask("overlays", { count: 1 }).catch(() => null); // asks for a token where one is needed
    if (!this.closed) this.open();
  }

  close() {
    this.closed = true;
    this.source.close();
  }
}
