// Calls of the operator's webhooks: what was asked, what it answered, what its patch changes.

import { clock, cut, duration, element, kindOf, section } from "/dom.js";

const MOST_KEPT = 500;

export class Webhooks {
  constructor() {
    this.calls = [];
  }

  take({ webhooks }) {
    const last = this.calls.at(-1)?.number ?? 0;
    const fresh = webhooks.filter((call) => call.number > last).map((call) => ({ ...call, id: String(call.number) }));
    this.calls = [...this.calls, ...fresh].slice(-MOST_KEPT);
  }

  rows(filter) {
    const wanted = this.calls.filter((call) => `${call.operation} ${call.kind} ${call.object}`.toLowerCase().includes(filter));
    return wanted.reverse().map((call) => ({
      id: call.id,
      cells: () => [
        element("span", "name", element("span", "title", `${call.operation} ${kindOf(call.kind)} `, cut("b", call.object)), element("span", "note", `${call.path} · ${call.user}`)),
        element("span", call.allowed ? "good" : "bad", call.allowed ? (call.patched ? "patched" : "allowed") : "refused"),
      ],
    }));
  }

  detail(id) {
    const call = this.calls.find((one) => one.id === id);
    if (!call) return [element("p", "faint", this.calls.length ? "Choose a call." : "No webhook was called yet.")];
    const part = call.subresource ? `/${call.subresource}` : "";
    return [
      element("h2", "", `${call.operation} ${call.kind}${part} ${call.object}`),
      element("p", "", element("span", call.allowed ? "good" : "bad", call.allowed ? "allowed" : `refused: ${call.code}`),
        ` · ${clock(call.at)} · took ${duration(call.took)}${call.dryRun ? " · dry run" : ""}`),
      call.message ? element("pre", call.allowed ? "" : "bad", call.message) : null,
      element("p", "faint", `${call.path}, asked for ${call.user}`),
      call.sent ? element("details", "", element("summary", "faint", "what it was asked about"), element("pre", "", call.sent)) : null,
      section("Warned of", (call.warnings ?? []).map((text) => element("li", "busy", text))),
      section("Changed", (call.changes ?? []).map((change) => element("li", "", element("code", "", `${change.path}: ${change.before} → ${change.after}`)))),
    ].filter(Boolean);
  }
}
