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

/** A link to a place of the page. */
export function link(hash, ...children) {
  const made = element("a", "", ...children);
  made.href = hash;
  return made;
}

/** A text that is cut in its middle where room is short: its last characters tell objects of one owner apart. */
export function cut(name, text, end = 8) {
  const at = Math.max(0, text.length - end);
  return element(name, "cut", element("span", "head", text.slice(0, at)), element("span", "tail", text.slice(at)));
}

/** A kind without its group, for where room is short. */
export function kindOf(kind) {
  return kind.split(".")[0];
}

/** `1 object`, `2 objects`. */
export function counted(count, what) {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

/** Seconds as people write them. */
export function duration(seconds) {
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)}µs`;
  if (seconds < 1) return `${Math.round(seconds * 1000)}ms`;
  if (seconds < 60) return `${seconds.toFixed(1)}s`;
  return `${Math.floor(seconds / 60)}m${Math.floor(seconds % 60)}s`;
}

/** A moment, in milliseconds since 1970, as the time of day. */
export function clock(milliseconds) {
  const time = new Date(milliseconds);
  const two = (number) => String(number).padStart(2, "0");
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}.${String(time.getMilliseconds()).padStart(3, "0")}`;
}

/** A heading with items below it; nothing if there are none. */
export function section(title, items) {
  if (items.length === 0) return null;
  return element("section", "", element("h3", "", title), element("ul", "", ...items));
}

/** The answer of an address of this page as JSON; null if there is none. */
export async function ask(path, parameters) {
  try {
    const answer = await fetch(`${path}?${new URLSearchParams(parameters)}`);
    return answer.ok ? await answer.json() : null;
  } catch {
    // The command is gone, which the head of the page says.
    return null;
  }
}

/** Sends something to an address of this page: whether it was done, and what was said. */
export async function send(path, body) {
  try {
    const answer = await fetch(path, { method: "POST", body: JSON.stringify(body) });
    const text = await answer.text();
    const isJson = answer.headers.get("content-type") === "application/json";
    return { ok: answer.ok, body: isJson ? JSON.parse(text) : { message: text } };
  } catch (error) {
    return { ok: false, body: { message: `no answer: ${error.message}` } };
  }
}
