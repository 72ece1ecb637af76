// Making elements. Whatever comes from the cluster becomes text, never markup.

/** An element with a class and children: elements, or anything else as text. */
export function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  for (const child of children) {
    if (child === null || child === undefined || child === "") continue;
    made.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return made;
}

/** Seconds as people write them. */
export function duration(seconds) {
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)}µs`;
  if (seconds < 1) return `${Math.round(seconds * 1000)}ms`;
  if (seconds < 60) return `${seconds.toFixed(1)}s`;
  return `${Math.floor(seconds / 60)}m${Math.floor(seconds % 60)}s`;
}

/** A row of the list that can be chosen. */
export function row(id, isChosen, choose, ...children) {
  const made = element("button", "row", ...children);
  made.type = "button";
  made.dataset.id = id;
  if (isChosen) made.setAttribute("aria-current", "true");
  made.addEventListener("click", () => choose(id));
  return made;
}

/** A heading with items below it; nothing if there are none. */
export function section(title, items) {
  if (items.length === 0) return null;
  return element("div", "", element("h3", "", title), element("ul", "", ...items));
}
