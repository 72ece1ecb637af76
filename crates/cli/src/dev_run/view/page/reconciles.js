// The timeline: from the records of the operator's trace to reconciles, each with its causes and what it did.

import { duration, element, row, section } from "/dom.js";

// More are not drawn; the filter finds the others.
const MOST_ROWS = 500;
// As many are kept.
const MOST_KEPT = 5000;

export class Reconciles {
  constructor() {
    this.clear();
  }

  clear() {
    this.process = null;
    this.next = 0;
    this.missed = 0;
    this.byId = new Map();
    this.causes = new Map(); // controller and key -> what asked since the last reconcile began
    this.last = new Map(); // controller and key -> the last reconcile
    this.writers = new Map(); // revision -> the reconcile that wrote it
  }

  /** A trace begins. One of another process has nothing to do with what is known. */
  begin({ process }) {
    if (process === this.process) return;
    this.clear();
    this.process = process;
  }

  /** Takes a record; whether it was news. */
  take(record) {
    if (record.sequence < this.next) return false;
    this.next = record.sequence + 1;
    const place = `${record.controller} ${record.key}`;
    const reconcile = this.byId.get(record.reconcile);
    switch (record.event) {
      case "queued": {
        const again = record.cause.again !== undefined && this.last.get(place);
        if (again) again.again = record.after;
        this.causes.set(place, [...(this.causes.get(place) ?? []), record]);
        break;
      }
      case "began": {
        const begun = {
          id: String(record.reconcile), controller: record.controller, key: record.key, at: record.at, waited: record.waited,
          causes: this.causes.get(place) ?? [], did: [], end: null, again: undefined,
        };
        this.causes.delete(place);
        this.byId.set(record.reconcile, begun);
        this.last.set(place, begun);
        if (this.byId.size > MOST_KEPT) this.byId.delete(this.byId.keys().next().value);
        break;
      }
      case "called":
        if (reconcile && isWrite(record) && record.revision !== null) this.writers.set(record.revision, reconcile);
        reconcile?.did.push(record);
        break;
      case "read":
      case "logged":
        reconcile?.did.push(record);
        break;
      case "ended":
        if (reconcile) reconcile.end = record;
        break;
    }
    return true;
  }

  rows(filter, chosen, choose) {
    const wanted = [...this.byId.values()].filter((one) => `${one.controller} ${one.key}`.toLowerCase().includes(filter));
    return wanted.slice(-MOST_ROWS).reverse().map((one) => {
      const [word, className] = outcome(one);
      const name = element("span", "name", `${one.controller} `, element("b", "", one.key), element("span", "note", this.why(one), ...this.smells(one)));
      return row(one.id, one.id === chosen, choose, element("span", "number", `#${one.id}`), name, element("span", className, word));
    });
  }

  detail(id) {
    const one = this.byId.get(Number(id));
    if (!one) return [element("p", "faint", "Choose a reconcile.")];
    const [word, className] = outcome(one);
    const of = (...events) => one.did.filter((record) => events.includes(record.event));
    const calls = of("called");
    return [
      element("h2", "", `#${one.id} ${one.controller} ${one.key}`),
      element("p", "", element("span", className, word), ` · began ${duration(one.at)} after the operator, waited ${duration(one.waited)}`,
        one.end ? `, took ${duration(one.end.took)}` : "", one.again !== undefined && one.again !== null ? ` · tried again after ${duration(one.again)}` : ""),
      one.end?.error ? element("pre", "bad", one.end.error) : null,
      ...this.smells(one).map((smell) => element("p", "busy", smell.textContent.trim())),
      section("Woken by", one.causes.map((cause) => element("li", "", this.cause(cause.cause)))),
      section("Read from the cache", of("read").map((read) => element("li", "", readText(read)))),
      section("Asked of the API server", calls.map(callItem)),
      section("Logged", of("logged").map((line) => element("li", "", element("span", line.level === "ERROR" ? "bad" : "faint", line.level), ` ${line.message}`))),
    ].filter(Boolean);
  }

  why(one) {
    if (one.causes.length === 0) return "woken before the trace began";
    const rest = one.causes.length > 1 ? ` and ${one.causes.length - 1} more` : "";
    return this.cause(one.causes[0].cause) + rest;
  }

  cause(cause) {
    if (cause === "source") return "a source of its own";
    if (cause.again !== undefined) return `again after ${cause.again}`;
    const { kind, key, change, revision } = cause.object;
    const writer = this.writers.get(revision);
    return `${kind} ${key} ${change}${revision === null ? "" : ` @${revision}`}${writer ? `, written by #${writer.id}` : ""}`;
  }

  /** What is suspicious about a reconcile. */
  smells(one) {
    const found = [];
    const isOwn = (cause) => {
      const writer = cause.cause.object && this.writers.get(cause.cause.object.revision);
      return writer && writer.controller === one.controller && writer.key === one.key;
    };
    if (one.causes.some(isOwn)) found.push("woken by its own write");
    const writes = one.did.filter((record) => record.event === "called" && isWrite(record));
    if (writes.some(changedNothing)) found.push("wrote without changing anything");
    return found.map((text) => element("span", "busy", ` ${text}`));
  }
}

function isWrite(call) {
  return !call.dryRun && !["get", "list", "watch"].includes(call.verb);
}

function changedNothing(call) {
  return isWrite(call) && !call.error && call.revision !== null && call.revision === call.cached;
}

function outcome(one) {
  if (!one.end) return ["running", "busy"];
  switch (one.end.outcome) {
    case "success": return ["done", "good"];
    case "error": return ["failed", "bad"];
    default: return [one.end.outcome === "requeue_after" ? "again later" : "again", "busy"];
  }
}

function readText(read) {
  const what = read.key ?? `${read.list.namespace ?? "all namespaces"}${read.list.selector ? ` where ${read.list.selector}` : ""}`;
  let found = "nothing";
  if (read.found.object !== undefined) found = `@${read.found.object ?? "?"}`;
  if (read.found.objects !== undefined) found = `${read.found.objects} objects`;
  return `${read.kind} ${what}: ${found}`;
}

function callItem(call) {
  const result = call.error ?? (changedNothing(call) ? "unchanged" : call.revision === null ? "" : `@${call.revision}`);
  const changes = call.changes.map((change) => element("li", "", element("code", "", `${change.path}: ${change.before} → ${change.after}`)));
  const sent = call.sent === null ? null : element("details", "", element("summary", "faint", "sent"), element("pre", "", call.sent));
  return element("li", "", `${call.verb} ${call.target} `, element("span", call.error ? "bad" : "good", call.code ?? "no answer"),
    ` ${result} `, element("span", "number", duration(call.took)), changes.length ? element("ul", "", ...changes) : null, sent);
}
