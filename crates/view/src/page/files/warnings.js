// What deserves a look: loops, writes without change, fields that are fought for, statuses that never settle.

import { clock, counted, element, link } from "/dom.js";

// What was not seen again for so long is over.
const OVER = 60_000;

export class Warnings {
  constructor() {
    this.byId = new Map();
    this.drawn = null;
  }

  take(warnings) {
    for (const warning of warnings) this.byId.set(warning.id, warning);
  }

  /** How many are so now. */
  get current() {
    return [...this.byId.values()].filter(isCurrent).length;
  }

  rows(filter) {
    const wanted = [...this.byId.values()].filter((warning) => warning.what.toLowerCase().includes(filter));
    // In the order in which they began, and not in which they come again: what loops would never stand still.
    return wanted.sort((a, b) => isCurrent(b) - isCurrent(a) || b.first - a.first || (a.id < b.id ? -1 : 1)).map((warning) => ({
      id: warning.id,
      cells: () => [
        element("span", "name", element("b", "", warning.what), element("span", "note", warning.advice)),
        element("span", isCurrent(warning) ? "bad" : "faint", isCurrent(warning) ? `${warning.times}×` : "over"),
      ],
    }));
  }

  detail(id) {
    const warning = this.byId.get(id);
    if (!warning) return [element("p", "faint", this.byId.size ? "Choose a warning." : "No warnings. Loops, writes that change nothing, fields that two managers fight for and a status that never settles would stand here.")];
    if (this.drawn?.id !== id) this.drawn = begin(warning);
    this.drawn.update(warning);
    return this.drawn.elements;
  }
}

/** The elements of a warning. What comes again and again changes in them, so that its links stand still. */
function begin(warning) {
  const times = element("p", "faint");
  const reconcile = element("a");
  const links = [warning.reconcile ? element("p", "", reconcile) : null, warning.uid ? element("p", "", link(`#objects/${warning.uid}`, "the object")) : null];
  const update = ({ times: count, first, last, reconcile: id }) => {
    times.textContent = `${counted(count, "time")}, first ${clock(first)}, last ${clock(last)}`;
    reconcile.href = `#reconciles/${id}`;
    reconcile.textContent = `the last reconcile, #${id}`;
  };
  return { id: warning.id, elements: [element("h2", "", warning.what), element("p", "", warning.advice), times, ...links.filter(Boolean)], update };
}

function isCurrent(warning) {
  return Date.now() - warning.last < OVER;
}
