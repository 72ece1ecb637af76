// Editing an object as YAML. What the API server refuses is said beside the line of the field.

import { element, send } from "/dom.js";

// The height of a line, as the style has it.
const LINE = 18;
const PADDING = 8;

/** An editor of an object, or of a text that becomes one: then `base` is null. `done` is called with the answer when it was applied, or given up. */
export function editor(base, text, done) {
  const area = element("textarea", "yaml");
  area.value = text;
  area.spellcheck = false;
  area.setAttribute("aria-label", "YAML of the object");
  const fit = () => { area.rows = area.value.split("\n").length + 1; };
  area.addEventListener("input", fit);
  fit();
  const notes = element("div", "notes");
  const said = element("div", "refusal");
  said.setAttribute("role", "alert");
  const apply = async () => {
    said.replaceChildren();
    notes.replaceChildren();
    const { ok, body } = await send("/api/apply", { base, edited: area.value });
    if (ok) done(body);
    else refuse(body);
  };
  const refuse = (refusal) => {
    const fields = refusal.fields ?? [];
    const lines = [...fields.map(({ field, message, line }) => ({ line, text: `${field}: ${message}` })),
      ...(typeof refusal.line === "number" ? [{ line: refusal.line, text: refusal.message }] : [])];
    said.replaceChildren(element("p", "bad", refusal.message), element("ul", "", ...lines.map(({ line, text }) => {
      if (typeof line !== "number") return element("li", "", text);
      const to = element("button", "link", `line ${line + 1}: ${text}`);
      to.type = "button";
      to.addEventListener("click", () => select(area, line));
      return element("li", "", to);
    })));
    notes.replaceChildren(...lines.filter(({ line }) => typeof line === "number").map(({ line, text }) => {
      const note = element("span", "note bad", `◀ ${text}`);
      note.title = text;
      note.style.top = `${PADDING + line * LINE}px`;
      // Behind the text of its line, as far as that leaves it room.
      const length = area.value.split("\n")[line]?.length ?? 0;
      note.style.left = `min(calc(${PADDING}px + ${length + 2}ch), 50%)`;
      return note;
    }));
    const first = lines.find(({ line }) => typeof line === "number");
    if (first) select(area, first.line);
  };
  const form = element("form", "editor",
    element("div", "commands",
      element("p", "buttons", submit("Apply"), button("Cancel", () => done()), element("span", "faint", " Ctrl-Enter applies, Escape gives up")), said),
    element("div", "typed", area, notes));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    apply();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) apply();
    if (event.key === "Escape") done();
    // What is typed here is no key of the page.
    event.stopPropagation();
  });
  const focus = (at = null) => {
    area.focus({ preventScroll: true });
    if (at !== null) area.setSelectionRange(at, at);
  };
  return { form, focus };
}

function select(area, line) {
  const before = area.value.split("\n").slice(0, line).join("\n").length + (line > 0 ? 1 : 0);
  const end = area.value.indexOf("\n", before);
  area.focus();
  area.setSelectionRange(before, end < 0 ? area.value.length : end);
}

/** A question for a number, or for yes. */
export function question(fields, word, done, act) {
  const said = element("span", "bad");
  said.setAttribute("role", "alert");
  const form = element("form", "question", ...fields, submit(word), button("Cancel", done), said);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { ok, body } = await act();
    if (ok) done();
    else said.textContent = body.message;
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") done();
    event.stopPropagation();
  });
  return { form, focus: () => form.querySelector("input, select, button").focus() };
}

function submit(text) {
  const made = element("button", "primary", text);
  made.type = "submit";
  return made;
}

export function button(text, act) {
  const made = element("button", "", text);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}
