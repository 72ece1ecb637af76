// What deserves a look: loops, writes without change, fields that are fought for, statuses that never settle.

import { clock, element, link } from "/dom.js";

// What was not seen again for so long is over.
const OVER = 60_000;

export class Warnings {
  constructor() {
    this.byId = new Map();
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
    return wanted.sort((a, b) => b.last - a.last).map((warning) => ({
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
    return [
      element("h2", "", warning.what),
      element("p", "", warning.advice),
      element("p", "faint", `${warning.times} times, first ${clock(warning.first)}, last ${clock(warning.last)}`),
      warning.reconcile ? element("p", "", link(`#reconciles/${warning.reconcile}`, `the last reconcile, #${warning.reconcile}`)) : null,
      warning.uid ? element("p", "", link(`#objects/${warning.uid}`, "the object")) : null,
    ].filter(Boolean);
  }
}

function isCurrent(warning) {
  return Date.now() - warning.last < OVER;
}
