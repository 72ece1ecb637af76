// The objects of the cluster as a tree of owners, with how each stands.

import { element, row } from "/dom.js";

const CLASSES = { ready: "good", failed: "bad", progressing: "busy", deleting: "busy" };
const MOST_ROWS = 1000;

export class Objects {
  constructor() {
    this.byUid = new Map();
    this.isAvailable = true;
    this.shown = { uid: null, revision: null, text: "" };
  }

  take({ anew, changed, deleted }) {
    if (anew) this.byUid.clear();
    for (const object of changed) this.byUid.set(object.uid, object);
    for (const uid of deleted) this.byUid.delete(uid);
  }

  rows(filter, chosen, choose) {
    if (!this.isAvailable) return [element("p", "row faint", "Objects are shown for the cluster in this process: leave out --context.")];
    return this.ordered(filter).slice(0, MOST_ROWS).map(([object, depth]) => {
      const namespace = object.namespace ? `${object.namespace}/` : "";
      const name = element("span", "name", `${object.kind} `, element("b", "", namespace + object.name), element("span", "note", object.why));
      name.style.paddingInlineStart = `${depth * 1.25}rem`;
      return row(object.uid, object.uid === chosen, choose, name, element("span", CLASSES[object.state], object.state));
    });
  }

  /** The objects with their depth: those that own something first, what they own below. Those that match, with all their owners. */
  ordered(filter) {
    const sorted = [...this.byUid.values()].sort((a, b) => label(a).localeCompare(label(b)));
    const below = new Map();
    const isRoot = (object) => !object.owners.some((uid) => uid !== object.uid && this.byUid.has(uid));
    for (const object of sorted) {
      const owner = object.owners.find((uid) => this.byUid.has(uid));
      if (owner && !isRoot(object)) below.set(owner, [...(below.get(owner) ?? []), object]);
    }
    const listed = new Set();
    const walk = (object, depth) => {
      // Owners in a circle are possible.
      if (listed.has(object.uid)) return [];
      listed.add(object.uid);
      const owned = (below.get(object.uid) ?? []).flatMap((one) => walk(one, depth + 1));
      return owned.length > 0 || label(object).toLowerCase().includes(filter) ? [[object, depth], ...owned] : [];
    };
    const roots = sorted.filter(isRoot).sort((a, b) => below.has(b.uid) - below.has(a.uid));
    const tree = roots.flatMap((object) => walk(object, 0));
    return [...tree, ...sorted.flatMap((object) => walk(object, 0))];
  }

  detail(uid, redraw) {
    const object = this.byUid.get(uid);
    if (!object) return [element("p", "faint", uid ? "It is gone." : "Choose an object.")];
    if (this.shown.uid !== uid || this.shown.revision !== object.revision) {
      const text = this.shown.uid === uid ? this.shown.text : "";
      this.shown = { uid, revision: object.revision, text };
      this.load(uid, redraw);
    }
    return [
      element("h2", "", label(object)),
      element("p", CLASSES[object.state], object.state, object.why ? ` · ${object.why}` : ""),
      element("pre", "", this.shown.text),
    ];
  }

  async load(uid, redraw) {
    const answer = await fetch(`/api/object?uid=${encodeURIComponent(uid)}`);
    if (!answer.ok || this.shown.uid !== uid) return;
    this.shown.text = await answer.text();
    redraw();
  }
}

function label(object) {
  return `${object.kind} ${object.namespace ? `${object.namespace}/` : ""}${object.name}`;
}
