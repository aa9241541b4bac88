// A table of any length: only the rows that can be seen are elements.

import { el, text } from "./dom.js";
import { NONE } from "./format.js";

const ROW = 24;

// columns: {key, title, width, right, sort, show(row) → text or [text, class]}. `open(row)` is called by
// a click and by Enter; `picked(row)` says which rows are marked.
export class Table {
  constructor(label, columns, { open = null, picked = () => false, onsort = null, empty = "Nothing here." } = {}) {
    this.columns = columns;
    this.open = open;
    this.picked = picked;
    this.onsort = onsort;
    this.empty = empty;
    this.sort = { key: "", falling: false };
    this.rows = [];
    this.all = 0;
    this.first = 0;
    this.current = -1;
    this.pool = [];
    this.template = columns.map((c) => c.width ?? "minmax(60px, 1fr)").join(" ");
    this.head = el("div", { className: "row head", role: "row" });
    this.head.style.gridTemplateColumns = this.template;
    for (const column of columns) this.head.append(this.header(column));
    this.body = el("div", { className: "rows", role: "rowgroup" });
    this.note = el("p", { className: "empty" });
    this.element = el(
      "div",
      { className: "table", role: "grid", "aria-label": label, tabIndex: 0 },
      this.head,
      this.body,
      this.note,
    );
    this.element.addEventListener("scroll", () => this.seen(), { passive: true });
    this.element.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.seen()).observe(this.element);
  }

  header(column) {
    const cell = el("span", { role: "columnheader", className: column.right ? "right" : "" });
    if (column.sort === false || !this.onsort) {
      cell.append(column.title);
      return cell;
    }
    const button = el("button", { type: "button" }, column.title);
    button.onclick = () => {
      const falling = this.sort.key === column.key ? !this.sort.falling : Boolean(column.right);
      this.sortBy(column.key, falling);
      this.onsort(column.key, falling);
    };
    cell.append(button);
    column.cell = cell;
    return cell;
  }

  sortBy(key, falling) {
    this.sort = { key, falling };
    for (const column of this.columns) {
      const how = column.key !== key ? "none" : falling ? "descending" : "ascending";
      column.cell?.setAttribute("aria-sort", how);
    }
  }

  // All rows at once, or rows from `first` on of `all`; `need(first, count)` is asked for others then.
  set(rows, all = rows.length, first = 0, need = null) {
    this.rows = rows;
    this.first = first;
    this.need = need;
    if (all !== this.all) {
      this.all = all;
      this.body.style.height = `${all * ROW}px`;
      this.element.setAttribute("aria-rowcount", String(all + 1));
    }
    this.note.hidden = all > 0;
    text(this.note, this.empty);
    this.draw();
  }

  range() {
    const height = this.element.clientHeight || 400;
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW) - 4);
    return [first, Math.min(this.all, first + Math.ceil(height / ROW) + 8)];
  }

  seen() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      const [first, last] = this.range();
      if (this.need && (first < this.first || last > this.first + this.rows.length)) this.need(first, last - first);
      this.draw();
    });
  }

  draw() {
    const [first, last] = this.range();
    while (this.pool.length < last - first) this.pool.push(this.line());
    this.pool.forEach((line, place) => {
      const number = first + place;
      line.element.hidden = number >= last;
      if (number < last) this.fill(line, number);
    });
  }

  line() {
    const cells = this.columns.map((c) => el("span", { role: "gridcell", className: c.right ? "right" : "" }));
    const element = el("div", { className: "row", role: "row" }, ...cells);
    element.style.gridTemplateColumns = this.template;
    const line = { element, cells, number: -1 };
    element.onclick = () => this.choose(line.number, true);
    this.body.append(element);
    return line;
  }

  fill(line, number) {
    if (line.number !== number) {
      line.number = number;
      line.element.style.transform = `translateY(${number * ROW}px)`;
      line.element.setAttribute("aria-rowindex", String(number + 2));
    }
    const row = this.rows[number - this.first];
    const marked = row !== undefined && this.picked(row);
    line.element.className = `row${marked ? " picked" : ""}${number === this.current ? " current" : ""}`;
    line.element.setAttribute("aria-selected", String(marked));
    this.columns.forEach((column, place) => {
      const shown = row === undefined ? "…" : column.show(row);
      const [label, look] = Array.isArray(shown) ? shown : [shown, ""];
      const cell = line.cells[place];
      const name = `${column.right ? "right " : ""}${label === NONE ? "none " : ""}${look}`.trim();
      if (cell.className !== name) cell.className = name;
      if (cell.textContent !== label) {
        cell.textContent = label;
        cell.title = label.length > 18 ? label : "";
      }
    });
  }

  choose(number, opened) {
    this.current = number;
    const row = this.rows[number - this.first];
    if (opened && row !== undefined) this.open?.(row);
    this.draw();
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.all, End: this.all };
    if (event.key === "Enter" || event.key === " ") {
      if (event.target !== this.element || this.current < 0) return;
      this.choose(this.current, true);
    } else if (event.key in steps) {
      this.choose(Math.max(0, Math.min(this.all - 1, this.current + steps[event.key])), false);
      const top = this.current * ROW;
      const height = this.element.clientHeight - ROW * 2;
      if (top < this.element.scrollTop) this.element.scrollTop = top;
      else if (top > this.element.scrollTop + height) this.element.scrollTop = top - height;
    } else return;
    event.preventDefault();
  }
}

// For tables whose rows are all here.
export function sorted(rows, table) {
  const column = table.columns.find((c) => c.key === table.sort.key);
  if (!column) return rows;
  const value = column.value ?? ((row) => row[column.key]);
  const sign = table.sort.falling ? -1 : 1;
  return rows.toSorted((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === null || x === undefined) return y === null || y === undefined ? 0 : 1;
    if (y === null || y === undefined) return -1;
    return sign * (x < y ? -1 : x > y ? 1 : 0);
  });
}
