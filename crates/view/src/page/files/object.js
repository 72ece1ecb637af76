// One object: how it stands, its conditions, its YAML with who manages which line, its versions, events and logs; and what can be done with it.

import { ask, clock, counted, element, link, section, send } from "/dom.js";
import { button, editor, question } from "/edit.js";
import { follow } from "/logs.js";

const COLOURS = 6;
// So long after a write the operator tells what it did.
const SOON = 10_000;
// As many versions of an object are listed.
const MOST_MOMENTS = 20;

export class ObjectDetail {
  constructor(about) {
    this.about = about;
    this.loaded = null;
    /** What is asked of the user just now: an editor, or a question. */
    this.asked = null;
    this.log = null;
    this.revealed = null;
    this.difference = null;
    this.drawn = null;
  }

  /** The elements of an object, `summary`, at a revision or now. */
  elements(summary, revision, redraw) {
    const stamp = `${summary.uid} ${summary.revision} ${revision}`;
    if (this.loaded?.uid !== summary.uid) this.leave();
    if (this.loaded?.stamp !== stamp) this.load(summary.uid, revision, stamp, redraw);
    const { whole, events } = this.loaded;
    // The same elements, so that nothing that is read or typed is disturbed.
    const key = [stamp, whole, events, this.asked, this.log, this.revealed, this.difference];
    if (this.drawn && this.drawn.key.every((part, at) => part === key[at])) return this.drawn.elements;
    const elements = [
      element("h2", "", label(summary)),
      element("p", summary.standing, summary.state || "no state is told", summary.why ? ` · ${summary.why}` : ""),
      ...(whole ? this.parts(summary, whole, events, revision, redraw) : []),
    ].filter(Boolean);
    this.drawn = { key, elements };
    return elements;
  }

  parts(summary, whole, events, revision, redraw) {
    const isNow = revision === null && !whole.isDeletion;
    return [
      element("p", "", link(`#reconciles?${new URLSearchParams({ q: place(summary) })}`, "Its reconciles")),
      isNow ? this.buttons(summary, whole, redraw) : null,
      this.asked?.form ?? null,
      whole.isDeletion ? element("p", "bad", `It was deleted @${whole.object.revision}.`) : null,
      section("Conditions", whole.conditions.map(condition)),
      this.log ? element("section", "", element("h3", "", `Log of ${this.log.container}`), this.log.text) : null,
      ...this.versions(summary, whole, revision, redraw),
      section("Events", (events ?? []).map(said)),
      ...(this.asked?.isEditor ? [] : yaml(this.revealed ?? whole)),
    ];
  }

  buttons(summary, whole, redraw) {
    const buttons = [];
    const { writes } = this.about;
    if (writes) buttons.push(this.asking("Edit", "edit", () => this.edit(redraw)));
    if (writes && typeof whole.replicas === "number") buttons.push(this.asking("Scale", "scale", () => this.scale(summary, whole.replicas, redraw)));
    if (writes) buttons.push(this.asking("Delete", "delete", () => this.remove(summary, redraw)));
    if (whole.isSecret) buttons.push(this.asking(this.revealed ? "Hide" : "Reveal", "reveal", () => this.reveal(summary, redraw)));
    for (const container of whole.containers) buttons.push(this.asking(`Log of ${container}`, "log", () => this.showLog(summary.uid, container, redraw)));
    return buttons.length ? element("p", "buttons", ...buttons) : null;
  }

  asking(text, act, open) {
    const made = button(text, open);
    made.dataset.act = act;
    return made;
  }

  edit(redraw) {
    const base = (this.revealed ?? this.loaded.whole).yaml;
    this.ask({ ...editor(base, base, () => this.done(redraw)), isEditor: true }, redraw);
  }

  scale({ uid }, replicas, redraw) {
    const input = element("input");
    Object.assign(input, { type: "number", min: 0, value: replicas, required: true });
    const field = element("label", "", "Replicas ", input);
    this.ask(question([field], "Scale", () => this.done(redraw), () => send("/api/scale", { uid, replicas: Number(input.value) })), redraw);
  }

  remove(summary, redraw) {
    const choices = { Background: "then what it owns", Foreground: "after what it owns", Orphan: "and leave what it owns" };
    const select = element("select", "", ...Object.entries(choices).map(([value, text]) => Object.assign(element("option", "", text), { value })));
    const field = element("label", "", `Delete ${label(summary)}, `, select, " ");
    const act = () => send("/api/delete", { uid: summary.uid, propagation: select.value });
    this.ask(question([field], "Delete", () => this.done(redraw), act), redraw);
  }

  async reveal({ uid }, redraw) {
    if (this.revealed) this.revealed = null;
    else {
      const { ok, body } = await send("/api/reveal", { uid });
      if (ok && this.loaded?.uid === uid) this.revealed = body;
    }
    redraw();
  }

  showLog(uid, container, redraw) {
    const isSame = this.log?.container === container;
    this.log?.close();
    this.log = isSame ? null : follow(uid, container);
    redraw();
  }

  ask(asked, redraw) {
    this.asked = asked;
    redraw();
    requestAnimationFrame(() => asked.focus());
  }

  done(redraw) {
    this.asked = null;
    redraw();
  }

  /** More is known of reconciles: one may have written the version that is shown, if it is new. */
  reconciled() {
    const whole = this.loaded?.whole;
    if (whole && Date.now() - whole.object.at < SOON) this.loaded.stamp = "";
  }

  /** Something was said about objects: of the one that is shown, it is read at once. */
  async said(uids, redraw) {
    const { uid, isPast } = this.loaded ?? {};
    if (isPast !== false || !uids.includes(uid)) return;
    const told = await ask("/api/events", { uid });
    if (this.loaded.uid !== uid || this.loaded.isPast) return;
    this.loaded.events = told?.events ?? null;
    redraw();
  }

  /** Gives up what is asked, and closes what is open. Whether there was something. */
  escape(redraw) {
    const wasOpen = this.asked ?? this.log ?? this.difference ?? this.revealed;
    this.leave();
    if (wasOpen) redraw();
    return Boolean(wasOpen);
  }

  leave() {
    this.log?.close();
    this.asked = this.log = this.revealed = this.difference = this.drawn = null;
  }

  /** When it changed, by whom, and whom that woke. */
  versions(summary, whole, revision, redraw) {
    const moments = whole.moments;
    if (!moments.length) return [];
    const shown = moments.map((moment, at) => ({ ...moment, before: moments[at - 1]?.revision ?? 0 })).reverse();
    const now = shown.find((moment) => revision === null || moment.revision <= revision)?.revision;
    const items = shown.slice(0, MOST_MOMENTS).map((moment) => current(revision !== null && moment.revision === now,
      changeItem(summary.uid, moment, this.compareButton(summary.uid, moment.before, moment.revision, redraw))));
    if (shown.length > MOST_MOMENTS) items.push(element("li", "faint", `and ${shown.length - MOST_MOMENTS} before`));
    const parts = [section("Changes", items)];
    if (moments.length > 2) parts.push(this.anyTwo(summary.uid, moments, redraw));
    if (this.difference) parts.push(differing(this.difference));
    return parts;
  }

  compareButton(uid, from, to, redraw) {
    const made = button(from ? "what changed" : "created", () => this.compare(uid, from, to, redraw));
    made.className = "link";
    return made;
  }

  anyTwo(uid, moments, redraw) {
    const choice = (name, chosen) => {
      const select = element("select", "", ...moments.map(({ revision }) => element("option", "", revision)));
      select.value = chosen;
      return { select, field: element("label", "", `${name} @`, select, " ") };
    };
    const from = choice("Compare", moments[0].revision);
    const to = choice("with", moments.at(-1).revision);
    return element("p", "", from.field, to.field, button("Compare", () => this.compare(uid, Number(from.select.value), Number(to.select.value), redraw)));
  }

  async compare(uid, from, to, redraw) {
    this.difference = await ask("/api/difference", { uid, from, to });
    redraw();
  }

  async load(uid, revision, stamp, redraw) {
    const before = this.loaded?.uid === uid ? this.loaded : null;
    this.loaded = { uid, stamp, isPast: revision !== null, whole: before?.whole ?? null, events: before?.events ?? null };
    const [whole, told] = await Promise.all([
      ask("/api/object", revision === null ? { uid } : { uid, revision }),
      revision === null ? ask("/api/events", { uid }) : null,
    ]);
    if (this.loaded.stamp !== stamp) return;
    this.loaded.whole = whole;
    this.loaded.events = told?.events ?? null;
    // What was revealed is of a version that is past.
    if (before?.whole && before.whole.object.revision !== whole?.object.revision) this.revealed = null;
    redraw();
  }
}

/** A version: when it came, who wrote it and whom that woke. */
function changeItem(uid, moment, ...more) {
  return element("li", "", link(`#objects/${uid}/at/${moment.revision}`, `@${moment.revision}`), ` ${clock(moment.at)} `,
    moment.isDeletion ? element("span", "bad", "deleted ") : null, ...more,
    moment.writer ? element("span", "", " written by ", link(`#reconciles/${moment.writer}`, `#${moment.writer}`)) : null,
    ...(moment.woke ?? []).slice(0, 6).map((id, at) => element("span", "", at ? ", " : " woke ", link(`#reconciles/${id}`, `#${id}`))));
}

/** Versions of an object, the newest first. */
export function moments(title, uid, all) {
  const items = [...all].reverse().slice(0, MOST_MOMENTS).map((moment) => changeItem(uid, moment));
  if (all.length > MOST_MOMENTS) items.push(element("li", "faint", `and ${all.length - MOST_MOMENTS} before`));
  return section(title, items);
}

/** Marks the item that is looked at. */
function current(isSo, item) {
  if (isSo) item.setAttribute("aria-current", "true");
  return item;
}

function condition({ says, standing, reason, message, since, isStale }) {
  const parts = [reason, message].filter(Boolean).join(": ");
  return element("li", "", element("b", standing, says), parts ? ` ${parts}` : "", element("span", "faint",
    since ? ` since ${clock(Date.parse(since)).slice(0, 8)}` : "", isStale ? ", of a former generation" : ""));
}

function said({ type, reason, message, source, count, at }) {
  return element("li", "", element("span", "number", clock(Date.parse(at)).slice(0, 8)), " ",
    element("b", type === "Warning" ? "bad" : "", reason), ` ${message}`, element("span", "faint", ` ${source}${count > 1 ? ` ${count}×` : ""}`));
}

/** The lines, each with the colour and, where it changes, the name of its manager. */
function yaml({ lines, managers }) {
  const names = managers.map(({ name, subresource }) => `${name}${subresource ? ` (${subresource})` : ""}`);
  const legend = names.map((name, at) => element("span", `manager m${at % COLOURS}`, name));
  let last = "";
  const rows = lines.map((line) => {
    const own = line.managers ?? [];
    const name = own.map((at) => names[at]).join(", ");
    const row = element("div", own.length ? `line m${own[0] % COLOURS}` : "line", element("span", "who", name === last ? " " : name || " "), element("span", "text", line.text || " "));
    if (name) row.title = `${line.field}: ${name}`;
    last = name;
    return row;
  });
  const text = element("div", "yaml", ...rows);
  text.tabIndex = 0;
  text.setAttribute("role", "region");
  text.setAttribute("aria-label", "YAML");
  return [element("h3", "", "YAML"), legend.length ? element("p", "legend", "managed by ", ...legend) : null, text].filter(Boolean);
}

/** What differs between two versions, line by line. */
export function differing({ from, to, lines }) {
  const title = from ? `From @${from} to @${to}` : `Created @${to}`;
  return element("section", "", element("h3", "", title), differenceLines(title, lines));
}

/** The lines of a difference. */
export function differenceLines(title, lines) {
  const marks = { same: "  ", removed: "- ", added: "+ ", skipped: "" };
  const classes = { same: "", removed: "bad removed", added: "good added", skipped: "faint" };
  const rows = lines.map(({ is, text }) => element("div", classes[is], `${marks[is]}${is === "skipped" ? `… ${counted(text, "line")} that ${text === 1 ? "is" : "are"} the same` : text}`));
  const whole = element("div", "difference", ...(rows.length ? rows : [element("div", "faint", "nothing but its version")]));
  whole.tabIndex = 0;
  whole.setAttribute("role", "region");
  whole.setAttribute("aria-label", title);
  return whole;
}

export function place(object) {
  return `${object.namespace ? `${object.namespace}/` : ""}${object.name}`;
}

export function label(object) {
  return `${object.kind} ${place(object)}`;
}
