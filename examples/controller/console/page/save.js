// CSV and PNG files of what is drawn.

import { colour } from "./dom.js";

// RFC 4180. Text that a spreadsheet would take for a formula is marked as text (CWE-1236).
export function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const plain = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r']/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

export function csv(rows) {
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

export function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replaceAll(/[^\w.-]+/g, "_");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export function saveCsv(name, rows) {
  save(`${name}.csv`, new Blob([csv(rows)], { type: "text/csv;charset=utf-8" }));
}

// A drawing with its title above it and its legend below: [colour, text].
export function savePng(name, title, drawing, legend) {
  const scale = devicePixelRatio;
  const line = 18 * scale;
  const made = document.createElement("canvas");
  made.width = drawing.width + 16 * scale;
  made.height = drawing.height + line * (2 + legend.length);
  const context = made.getContext("2d");
  context.fillStyle = colour("--panel");
  context.fillRect(0, 0, made.width, made.height);
  context.drawImage(drawing, 8 * scale, 1.4 * line);
  context.font = `600 ${13 * scale}px system-ui, sans-serif`;
  context.fillStyle = colour("--ink");
  context.fillText(title, 8 * scale, line);
  context.font = `${12 * scale}px system-ui, sans-serif`;
  legend.forEach(([hue, label], number) => {
    const y = 1.9 * line + drawing.height + number * line;
    context.fillStyle = hue;
    context.fillRect(10 * scale, y - 9 * scale, 12 * scale, 3 * scale);
    context.fillStyle = colour("--ink");
    context.fillText(label, 30 * scale, y - 4 * scale);
  });
  made.toBlob((blob) => save(`${name}.png`, blob));
}
