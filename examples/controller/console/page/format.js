// Numbers with their units, and times.

export const NONE = "–";
const SCALES = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
];

function digits(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 || size === 0 ? 0 : size >= 9.995 ? 1 : 2);
}

export function si(value, unit) {
  if (value === null || value === undefined) return NONE;
  if (value === 0) return `0 ${unit}`;
  const [size, prefix] = SCALES.find(([least]) => Math.abs(value) >= least * 0.9995) ?? [1, ""];
  return `${digits(value / size)} ${prefix}${unit}`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  const size = Math.abs(seconds);
  if (size === 0) return "0 ms";
  if (size < 0.9995e-3) return `${digits(seconds * 1e6)} µs`;
  if (size < 0.9995) return `${digits(seconds * 1e3)} ms`;
  return `${digits(seconds)} s`;
}

export function ratio(value) {
  if (value === null || value === undefined) return NONE;
  return value === 0 ? "0 %" : `${digits(value * 100)} %`;
}

export function count(value) {
  return value === null || value === undefined ? NONE : value.toLocaleString("en");
}

export function quantity(value, unit) {
  switch (unit) {
    case "s":
      return duration(value);
    case "ratio":
      return ratio(value);
    case "packets/s":
      return si(value, "p/s");
    case "bit/s":
      return si(value, "bit/s");
    case "entries":
      return count(value);
    default:
      return si(value, unit);
  }
}

const two = (n) => String(n).padStart(2, "0");

export function clock(time) {
  const t = new Date(time * 1000);
  return `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
}

export function moment(time) {
  const t = new Date(time * 1000);
  return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${clock(time)}`;
}

export function ago(seconds) {
  for (const [unit, size] of [
    ["d", 86400],
    ["h", 3600],
    ["min", 60],
  ]) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  }
  return `${Math.max(0, Math.floor(seconds))} s`;
}
