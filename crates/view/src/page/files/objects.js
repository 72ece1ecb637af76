// The objects of the cluster as a tree of owners, with how each stands.

import { ask, element } from "/dom.js";

export class Objects {
  constructor() {
    this.byUid = new Map();
    this.sorted = null;
    this.loaded = null;
    this.unreadable = {};
  }

  take({ anew, changed, deleted }) {
    if (anew) this.byUid.clear();
    for (const object of changed) this.byUid.set(object.uid, object);
    for (const uid of deleted) this.byUid.delete(uid);
    this.sorted = null;
  }

  rows(filter) {
    return this.ordered(filter).map(([object, depth]) => ({
      id: object.uid,
      cells: () => {
        const name = element("span", "name", `${object.kind} `, element("b", "", place(object)), element("span", "note", object.why));
        name.style.paddingInlineStart = `${Math.min(depth, 8) * 1.25}rem`;
        return [name, element("span", object.standing, object.state)];
      },
    }));
  }

  /** The objects with their depth: those that own something first, what they own below. Those that match, with all their owners. */
  ordered(filter) {
    this.sorted ??= [...this.byUid.values()].sort((a, b) => compare(label(a), label(b)));
    const sorted = this.sorted;
    const below = new Map();
    const isRoot = (object) => !object.owners.some((uid) => uid !== object.uid && this.byUid.has(uid));
    for (const object of sorted) {
      const owner = object.owners.find((uid) => uid !== object.uid && this.byUid.has(uid));
      if (!owner) continue;
      if (below.has(owner)) below.get(owner).push(object);
      else below.set(owner, [object]);
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
    if (!object) return [element("p", "faint", uid ? "It is gone." : "Choose an object."), ...this.troubles()];
    if (this.loaded?.uid !== uid || this.loaded.revision !== object.revision) this.load(object, redraw);
    return [
      element("h2", "", label(object)),
      element("p", object.standing, object.state, object.why ? ` · ${object.why}` : ""),
      element("pre", "", this.loaded.yaml),
    ];
  }

  /** Kinds that cannot be read, and why. */
  troubles() {
    return Object.entries(this.unreadable).map(([kind, why]) => element("p", "busy", `${kind} cannot be read: ${why}`));
  }

  async load({ uid, revision }, redraw) {
    this.loaded = { uid, revision, yaml: this.loaded?.uid === uid ? this.loaded.yaml : "" };
    const whole = await ask("/api/object", { uid });
    if (whole === null || this.loaded.uid !== uid || this.loaded.revision !== revision) return;
    this.loaded.yaml = whole.yaml;
    redraw();
  }
}

function place(object) {
  return `${object.namespace ? `${object.namespace}/` : ""}${object.name}`;
}

function label(object) {
  return `${object.kind} ${place(object)}`;
}

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
