// The timeline: reconciles, the newest first, each with what woke it, what it did and what that woke.

import { ask, clock, cut, duration, element, link, section } from "/dom.js";

export class Reconciles {
  constructor() {
    this.byOrder = new Map();
    this.byId = new Map();
    this.isKnown = false;
    this.missed = 0;
    this.loaded = null;
    this.drawn = null;
  }

  take({ changed, oldest, missed }) {
    this.isKnown = true;
    this.missed = missed;
    for (const one of changed) {
      this.byOrder.set(one.order, one);
      this.byId.set(one.id, one);
    }
    for (const [order, one] of this.byOrder) {
      if (order >= oldest) break;
      this.byOrder.delete(order);
      this.byId.delete(one.id);
    }
  }

  rows(filter) {
    const all = [...this.byOrder.values()].filter((one) => `${one.controller} ${one.key} ${one.about.join(" ")}`.toLowerCase().includes(filter)).reverse();
    return all.map((one) => ({
      id: one.id,
      cells: () => [
        element("span", "number moment", `#${one.id}`, element("span", "note", clock(one.at).slice(0, 8))),
        element("span", "name", element("span", "title", element("span", "head", `${one.controller} `), cut("b", one.key)), because(one)),
        element("span", `outcome ${one.standing}`, one.outcome, changedNothing(one) ? element("span", "note", "no change") : null),
      ],
    }));
  }

  detail(id, redraw) {
    const one = this.byId.get(id);
    if (!one) return [element("p", "faint", id ? this.isKnown ? "It is not kept any more." : "It is read." : "Choose a reconcile.")];
    const stamp = `${one.id} ${one.outcome} ${one.took}`;
    if (this.loaded?.stamp !== stamp) this.load(id, stamp, redraw);
    const whole = this.loaded?.id === id ? this.loaded.whole : null;
    if (this.drawn && this.drawn.one === one && this.drawn.whole === whole) return this.drawn.elements;
    const elements = [
      element("h2", "", `#${one.id} ${one.controller} ${one.key}`),
      element("p", "", element("span", one.standing, one.outcome), ` · ${clock(one.at)} · waited ${duration(one.waited)}`,
        one.took === null ? "" : ` · took ${duration(one.took)}`,
        whole?.isTerminal ? " · not tried again" : typeof whole?.again === "number" ? ` · tried again ${whole.again > 0 ? `after ${duration(whole.again)}` : "at once"}` : ""),
      whole?.error ? element("pre", "bad", whole.error) : null,
      changedNothing(one) ? element("p", "faint", "This reconcile changed nothing.") : null,
      ...one.smells.map((smell) => element("p", "busy", smell)),
      ...(whole ? parts(whole) : []),
    ].filter(Boolean);
    this.drawn = { one, whole, elements };
    return elements;
  }

  async load(id, stamp, redraw) {
    this.loaded = { id, stamp, whole: this.loaded?.id === id ? this.loaded.whole : null };
    const whole = await ask("/api/reconcile", { id });
    if (this.loaded.stamp !== stamp) return;
    this.loaded.whole = whole;
    redraw();
  }
}

/** What woke it. Where room is short, what happened is more than the name of what it happened to. */
function because({ why: whole, smells }) {
  // A kind without its group, which stands in the detail.
  const why = whole.replace(/^([A-Z]\w*)\.\S+ /, "$1 ");
  const at = why.search(/ (listed|resynced|created|updated|deleted)\b/);
  const words = at < 0 ? element("span", "head", why) : cut("span", why, why.length - at);
  return element("span", "note cut", words, ...smells.map((smell) => element("span", "busy head", ` ${smell}`)));
}

/** Whether it ended without having changed an object. */
function changedNothing(one) {
  return one.took !== null && one.changed === 0;
}

function parts(whole) {
  const woken = whole.wokenBy.map(({ text, writer, uid, revision }) => element("li", "", uid && revision ? link(`#objects/${uid}/at/${revision}`, text) : text,
    writer ? element("span", "", " ", link(`#reconciles/${writer}`, `see #${writer}`)) : null));
  if (whole.wokenByMore > 0) woken.push(element("li", "faint", `and ${whole.wokenByMore} more`));
  return [
    section("Woken by", woken),
    section("What it did", whole.steps.map(step)),
    section("Woke", whole.caused.map((id) => element("li", "", link(`#reconciles/${id}`, `#${id}`)))),
    chain(whole),
  ];
}

/** The reconciles that led here, each by a write that woke the next: one that comes again and again is a loop. */
function chain(whole) {
  if (whole.before.length < 2) return null;
  const here = `${whole.controller} ${whole.key}`;
  const again = whole.before.filter((one) => `${one.controller} ${one.key}` === here).length;
  const all = [...whole.before].reverse().map((one) => element("li", "", link(`#reconciles/${one.id}`, `#${one.id}`), ` ${one.controller} ${one.key}`));
  return element("section", "", element("h3", "", "What led here"), again > 1 ? element("p", "busy", `A loop: ${here} came ${again} times on the way here.`) : null,
    element("ol", "", ...all, element("li", "", `#${whole.id} ${here}`)));
}

function step(one) {
  const after = element("span", "number", duration(Math.max(one.after, 0)));
  if (one.did === "read") return element("li", "", after, " read ", one.text);
  if (one.did === "log") return element("li", "", after, " ", element("span", one.level === "ERROR" ? "bad" : "faint", one.level), ` ${one.text}`);
  const revision = one.revision === null ? "" : `@${one.revision}`;
  const result = one.error ?? (one.changedNothing ? "unchanged" : one.uid ? link(`#objects/${one.uid}/at/${one.revision}`, revision) : revision);
  const changes = one.changes.map((change) => element("li", "", element("code", "", `${change.path}: ${change.before} → ${change.after}`)));
  const sent = one.sent === null ? null : element("details", "", element("summary", "faint", "sent"), element("pre", "", one.sent));
  return element("li", "", after, ` ${one.verb} ${one.target} `, element("span", one.error ? "bad" : "good", one.code ?? "no answer"), " ", result, " ",
    element("span", "number", duration(one.took)), changes.length ? element("ul", "", ...changes) : null, sent);
}
