// What differs in the whole cluster between two moments: the rows of objects that came, went and changed, and what differs in one of them.

import { ask, element, link } from "/dom.js";
import { differing, label, moments } from "/object.js";

const MARKS = { created: "+", changed: "~", deleted: "−", passing: "±" };
const STANDING = { created: "good", changed: "busy", deleted: "bad", passing: "faint" };

/** What stands before the name of an object that differs. */
export function mark(object) {
  const made = element("span", `mark ${STANDING[object.became]}`, MARKS[object.became]);
  made.title = words(object);
  return made;
}

/** How an object that differs stood, and stands. */
export function outcome(object) {
  const { became, was, state, standing } = object;
  if (became === "changed" && was.state !== state) {
    return element("span", "outcome", element("span", was.standing, was.state || "–"), " → ", element("span", standing, state || "–"));
  }
  return element("span", STANDING[became], words(object));
}

function words({ became }) {
  return became === "passing" ? "came and went" : became;
}

/** The detail of an object that differs. */
export class Between {
  constructor() {
    this.loaded = null;
    this.drawn = null;
  }

  elements(object, { from, to }, redraw) {
    // What differs until a later moment is the same while the object is.
    const stamp = `${object.uid} ${from} ${object.revision}`;
    if (this.loaded?.stamp !== stamp) this.load(object.uid, from, to, stamp, redraw);
    const { difference } = this.loaded;
    if (this.drawn?.stamp === stamp && this.drawn.difference === difference) return this.drawn.elements;
    const elements = [
      element("h2", "", label(object)),
      element("p", "", mark(object), " ", outcome(object)),
      element("p", "legend", object.became === "changed" || object.became === "deleted" ? link(`#objects/${object.uid}/at/${from}`, `as it was @${from}`) : null,
        object.became === "changed" || object.became === "created" ? link(`#objects/${object.uid}/at/${to}`, `as it was @${to}`) : null),
      ...(difference ? [differing(difference), moments("Changes in between", object.uid, difference.moments)] : [element("p", "faint", "It is read.")]),
    ].filter(Boolean);
    this.drawn = { stamp, difference, elements };
    return elements;
  }

  async load(uid, from, to, stamp, redraw) {
    // What is shown of the same object stays until there is more.
    const before = this.loaded?.uid === uid ? this.loaded.difference : null;
    this.loaded = { uid, stamp, difference: before };
    const difference = await ask("/api/difference", { uid, from, to });
    if (this.loaded.stamp !== stamp) return;
    this.loaded.difference = difference;
    redraw();
  }
}
