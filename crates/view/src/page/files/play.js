// A finding of an exploration, played step by step: what happened as a timeline, and of each event what it changed and what was read.

import { mark } from "/between.js";
import { element, link, section } from "/dom.js";
import { button } from "/edit.js";
import { differenceLines } from "/object.js";

const STANDING = { strike: "bad", failure: "bad", change: "faint", leftOut: "faint" };

/** The address of a finding, at its first event or another one. */
export function findingPath(name, number, at = 1) {
  return `#explore/${[name, number, at].map(encodeURIComponent).join("/")}`;
}

export class Play {
  constructor() {
    this.drawn = null;
  }

  /** The timeline, of which events that are still to come are faint. */
  rows({ name, number, story, at }, filter) {
    const all = story.map((event, place) => ({ event, place: place + 1 }));
    return all.filter(({ event }) => event.text.toLowerCase().includes(filter)).map(({ event, place }) => ({
      id: `${name}/${number}/${place}`,
      className: place > at ? "later" : "",
      title: event.text,
      cells: () => {
        const made = element("span", "name", element(event.is === "step" || event.is === "reconcile" ? "b" : "span", standing(event), event.text));
        const changed = changedLine(event);
        if (changed) made.append(element("span", "note", changed));
        made.style.paddingInlineStart = `${event.depth * 1.25}rem`;
        return [made, event.object ? element("span", "number", `@${event.object.revision}`) : element("span")];
      },
    }));
  }

  detail(playing) {
    const { name, number, finding, story, at } = playing;
    const stamp = `${name}/${number}/${at}`;
    if (this.drawn?.stamp === stamp && this.drawn.story === story) return this.drawn.elements;
    const event = story[at - 1];
    const go = (to, text, label) => {
      const made = button(text, () => { location.hash = findingPath(name, number, to); });
      made.setAttribute("aria-label", label);
      made.disabled = to < 1 || to > story.length;
      return made;
    };
    const elements = [
      element("p", "buttons", go(at - 1, "◀", "Previous event"), go(at + 1, "▶", "Next event"), element("span", "number", `${at} of ${story.length}`),
        link(`#explore/${encodeURIComponent(name)}`, "the whole report")),
      element("h2", standing(event), event.text),
      ...reads(event.reads ?? []),
      event.object ? change(event.object) : null,
      this.belongsTo(playing),
      soFar(story.slice(0, at)),
      element("section", "", element("h3", "", "What came of it"), element("p", "bad", finding.difference), finding.details.length ? element("pre", "", finding.details.join("\n")) : null,
        finding.plan ? element("p", "faint", "Again: ", element("code", "", `.replay(${JSON.stringify(finding.plan)})`)) : element("p", "faint", "Without any disturbance.")),
    ].filter(Boolean);
    this.drawn = { stamp, story, elements };
    return elements;
  }

  /** The reconcile that an event is part of, and what it had read until then. */
  belongsTo({ name, number, story, at }) {
    const event = story[at - 1];
    if (event.depth < 2) return null;
    const begun = story.slice(0, at - 1).findLastIndex(({ depth }) => depth < 2);
    if (story[begun]?.is !== "reconcile") return null;
    const before = event.is === "read" ? [] : story.slice(begun + 1, at - 1).flatMap((one) => one.reads ?? []);
    return element("section", "", element("h3", "", "In"), element("p", "", link(findingPath(name, number, begun + 1), story[begun].text)),
      before.length ? element("p", "faint", "It had read:") : null, ...(before.length ? [element("ul", "", ...before.map(readItem))] : []));
  }
}

function standing(event) {
  return event.text.includes("⚡") ? "bad" : STANDING[event.is] ?? "";
}

/** The first line that an event changed; empty if it made or took away the whole object, or nothing. */
function changedLine({ object }) {
  if (object?.became !== "changed") return "";
  const differ = object.lines.filter(({ is }) => is === "added" || is === "removed");
  const first = differ.find(({ is }) => is === "added") ?? differ[0];
  return first ? `${first.is === "added" ? "+" : "−"} ${first.text.trim()}${differ.length > 2 ? " …" : ""}` : "";
}

function readItem({ text, missed }) {
  return element("li", missed ? "busy" : "", text);
}

/** What was read, and of what was stale what the server had instead. */
function reads(all) {
  if (!all.length) return [];
  const stale = all.filter(({ missed }) => missed);
  return [section("What it had read", all.map(readItem)), ...stale.map(({ missed }) => change(missed, `What it did not know of ${missed.name} yet, @${missed.revision}`))];
}

function change(object, title = `${object.name} ${object.became} @${object.revision}`) {
  return element("section", "", element("h3", "", title), differenceLines(title, object.lines));
}

/** What became of each object until an event. */
function soFar(events) {
  const last = new Map();
  for (const { object } of events) {
    if (!object) continue;
    // What was made in the story, and changed later, was made.
    const became = object.became === "changed" && last.get(object.name)?.became === "created" ? "created" : object.became;
    last.set(object.name, { became, revision: object.revision });
  }
  return section("The cluster so far", [...last].map(([name, object]) => element("li", "", mark(object), ` ${name} `, element("span", "number", `@${object.revision}`))));
}
