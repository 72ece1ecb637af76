// The objects of the cluster as a tree of owners, with how each stands, now or at a moment of the past; or those that differ between two moments.

import { Between, mark, outcome } from "/between.js";
import { cut, element } from "/dom.js";
import { editor } from "/edit.js";
import { ObjectDetail, label, place } from "/object.js";

export class Objects {
  constructor(about) {
    this.byUid = new Map();
    this.isKnown = false;
    /** The tree is made anew when an object comes or goes, or has another owner; not when one changes otherwise. */
    this.tree = null;
    this.order = [];
    this.past = null;
    this.unreadable = {};
    this.shown = new ObjectDetail(about);
    this.between = new Between();
    /** The editor of an object that is to be created, and beside which chosen object it was opened. */
    this.creating = null;
    /** The uid of one that was created and of which no news have come yet. */
    this.expected = null;
  }

  take({ anew, changed, deleted }) {
    this.isKnown = true;
    if (anew) this.byUid.clear();
    for (const object of changed) {
      const known = this.byUid.get(object.uid);
      if (!known || known.owners.join() !== object.owners.join()) this.tree = null;
      named(object, known);
      this.byUid.set(object.uid, object);
      if (object.uid === this.expected) this.expected = null;
    }
    for (const uid of deleted) this.byUid.delete(uid);
    if (anew || deleted.length) this.tree = null;
  }

  /** Shows the objects of a revision, or those that differ between two, as they were `told`; null is the present. */
  travel(revision, told) {
    const objects = told?.changes ?? told?.objects;
    this.past = objects ? { revision, ends: told.changes ? told : null, byUid: new Map(objects.map((object) => [object.uid, named(object)])) } : null;
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
        const name = element("span", "name", element("span", "title", object.became ? mark(object) : null, `${object.kind} `, cut("b", place(object))),
          object.why ? element("span", "note", object.why) : null);
        name.style.paddingInlineStart = `${Math.min(depth, 8) * 1.25}rem`;
        return [name, object.became ? outcome(object) : element("span", object.standing, object.state)];
      },
    };
  }

  /** The uids with their depth: those of kinds that are defined here and those that own something first, what they own below. Those that match, with all
   * their owners. */
  ordered(filter) {
    const all = this.current;
    const below = new Map();
    const roots = [];
    const sorted = this.sorted(all);
    for (const object of sorted) {
      const owner = object.owners.find((uid) => uid !== object.uid && all.has(uid));
      if (!owner) roots.push(object);
      else if (below.has(owner)) below.get(owner).push(object);
      else below.set(owner, [object]);
    }
    const listed = new Set();
    const rows = [];
    const walk = (object, depth) => {
      // Owners in a circle are possible.
      if (listed.has(object.uid)) return;
      listed.add(object.uid);
      const isMatch = object.lower.includes(filter);
      const before = rows.push([object.uid, depth, isMatch]);
      for (const owned of below.get(object.uid) ?? []) walk(owned, depth + 1);
      if (!isMatch && rows.length === before) rows.pop();
    };
    for (const object of roots) if (object.isDefined || below.has(object.uid)) walk(object, 0);
    for (const object of roots) walk(object, 0);
    for (const object of sorted) walk(object, 0);
    return rows;
  }

  /** The objects by kind, namespace and name. What was sorted before is nearly so again, which costs little. */
  sorted(all) {
    const known = new Set(this.order);
    const order = this.order.filter((uid) => all.has(uid));
    for (const uid of all.keys()) if (!known.has(uid)) order.push(uid);
    const objects = order.map((uid) => all.get(uid)).sort((a, b) => b.isDefined - a.isDefined || compare(a.label, b.label));
    this.order = objects.map(({ uid }) => uid);
    return objects;
  }

  /** Opens an editor for an object, of the kind of the one that is chosen. `created` is called with its uid. */
  create(uid, created, redraw) {
    const { apiVersion, kind, namespace } = this.current.get(uid) ?? { apiVersion: "v1", kind: "ConfigMap", namespace: "default" };
    const place = namespace ? `  namespace: ${namespace}\n` : "";
    const skeleton = `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata:\n  name: `;
    const opened = editor(null, `${skeleton}\n${place}`, (made) => {
      this.creating = null;
      if (!made) return redraw();
      this.expected = this.byUid.has(made.uid) ? null : made.uid;
      created(made.uid);
    });
    this.creating = { uid, elements: [element("h2", "", "New object"), opened.form] };
    redraw();
    requestAnimationFrame(() => opened.focus(skeleton.length));
  }

  detail(uid, redraw) {
    if (this.creating && this.creating.uid === uid) return this.creating.elements;
    this.creating = null;
    if (this.past?.ends) return this.difference(this.past.byUid.get(uid), uid, redraw);
    const object = this.current.get(uid) ?? (uid && this.past === null ? this.shown.loaded?.whole?.object : null);
    if (!object || (object.uid !== uid)) {
      const words = !this.isKnown || uid === this.expected ? "It is read." : this.past ? "It was not there." : "It is gone.";
      return [element("p", "faint", uid ? words : "Choose an object."), ...this.troubles()];
    }
    if (!this.current.has(uid)) return [element("p", "bad", "It is gone; the slider leads to what it was."), ...this.shown.elements(object, null, redraw)];
    return this.shown.elements(object, this.past?.revision ?? null, redraw);
  }

  /** What differs in the chosen object between two moments. */
  difference(object, uid, redraw) {
    if (object) return this.between.elements(object, this.past.ends, redraw);
    const { from, to } = this.past.ends;
    if (from === to) return [element("p", "faint", `Nothing differs from @${from} yet: move the slider, or let the present go on.`)];
    if (!this.past.byUid.size) return [element("p", "faint", `No object differs between @${from} and @${to}.`)];
    return [element("p", "faint", uid ? `It is the same @${from} and @${to}.` : "Choose an object to see what differs.")];
  }

  /** Kinds that cannot be read, and why. */
  troubles() {
    return Object.entries(this.unreadable).map(([kind, why]) => element("p", "busy", `${kind} cannot be read: ${why}`));
  }

  escape(redraw) {
    if (this.creating) {
      this.creating = null;
      redraw();
      return true;
    }
    return this.shown.escape(redraw);
  }
}

/** An object with its label, which one of the same uid has already. */
function named(object, known) {
  object.label = known?.label ?? label(object);
  object.lower = known?.lower ?? object.label.toLowerCase();
  return object;
}

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
