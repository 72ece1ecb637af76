// The objects of the cluster as a tree of owners, with how each stands, now or at a moment of the past.

import { element } from "/dom.js";
import { ObjectDetail, label, place } from "/object.js";

export class Objects {
  constructor(about) {
    this.byUid = new Map();
    /** The tree is made anew when an object comes or goes, or has another owner; not when one changes otherwise. */
    this.tree = null;
    this.past = null;
    this.unreadable = {};
    this.shown = new ObjectDetail(about);
  }

  take({ anew, changed, deleted }) {
    if (anew) this.byUid.clear();
    for (const object of changed) {
      const known = this.byUid.get(object.uid);
      if (!known || known.owners.join() !== object.owners.join()) this.tree = null;
      object.label = known?.label ?? label(object);
      this.byUid.set(object.uid, object);
    }
    for (const uid of deleted) this.byUid.delete(uid);
    if (anew || deleted.length) this.tree = null;
  }

  /** Shows the objects of a revision; null is the present. */
  travel(revision, objects) {
    this.past = revision === null ? null : { revision, byUid: new Map(objects.map((object) => [object.uid, { ...object, label: label(object) }])) };
    this.tree = null;
  }

  get current() {
    return this.past?.byUid ?? this.byUid;
  }

  rows(filter) {
    if (this.tree?.filter !== filter) this.tree = { filter, rows: this.ordered(filter).map(([uid, depth, isMatch]) => this.row(uid, depth, isMatch)) };
    return this.tree.rows;
  }

  row(uid, depth, isMatch) {
    return {
      id: uid,
      isMatch,
      cells: () => {
        const object = this.current.get(uid);
        if (!object) return [];
        const name = element("span", "name", `${object.kind} `, element("b", "", place(object)), object.why ? element("span", "note", object.why) : null);
        name.style.paddingInlineStart = `${Math.min(depth, 8) * 1.25}rem`;
        return [name, element("span", object.standing, object.state)];
      },
    };
  }

  /** The uids with their depth: those that own something first, what they own below. Those that match, with all their owners. */
  ordered(filter) {
    const all = this.current;
    const sorted = [...all.values()].sort((a, b) => compare(a.label, b.label));
    const below = new Map();
    const roots = [];
    for (const object of sorted) {
      const owner = object.owners.find((uid) => uid !== object.uid && all.has(uid));
      if (!owner) roots.push(object);
      else if (below.has(owner)) below.get(owner).push(object);
      else below.set(owner, [object]);
    }
    const listed = new Set();
    const walk = (object, depth) => {
      // Owners in a circle are possible.
      if (listed.has(object.uid)) return [];
      listed.add(object.uid);
      const owned = (below.get(object.uid) ?? []).flatMap((one) => walk(one, depth + 1));
      const isMatch = object.label.toLowerCase().includes(filter);
      return owned.length > 0 || isMatch ? [[object.uid, depth, isMatch], ...owned] : [];
    };
    roots.sort((a, b) => below.has(b.uid) - below.has(a.uid));
    const tree = roots.flatMap((object) => walk(object, 0));
    return listed.size === all.size ? tree : [...tree, ...sorted.flatMap((object) => walk(object, 0))];
  }

  detail(uid, redraw) {
    const object = this.current.get(uid) ?? (uid && this.past === null ? this.shown.loaded?.whole?.object : null);
    if (!object || (object.uid !== uid)) {
      const words = this.past ? "It was not there." : "It is gone.";
      return [element("p", "faint", uid ? words : "Choose an object."), ...this.troubles()];
    }
    if (!this.current.has(uid)) return [element("p", "bad", "It is gone; the slider leads to what it was."), ...this.shown.elements(object, null, redraw)];
    return this.shown.elements(object, this.past?.revision ?? null, redraw);
  }

  /** Kinds that cannot be read, and why. */
  troubles() {
    return Object.entries(this.unreadable).map(([kind, why]) => element("p", "busy", `${kind} cannot be read: ${why}`));
  }

  escape(redraw) {
    return this.shown.escape(redraw);
  }
}

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
