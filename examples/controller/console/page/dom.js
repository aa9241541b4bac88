// Elements, by text only: what an agent says is never read as HTML.

export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made && !name.includes("-")) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function svg(tag, attributes = {}, text = null) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}

export function text(element, value) {
  if (element.textContent !== value) element.textContent = value;
}

export const byId = (id) => document.getElementById(id);

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
