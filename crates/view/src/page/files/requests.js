// What was asked of the API server, by whom and with what answer; and what rights the operator lacks or never used.

import { counted, element, section } from "/dom.js";

export class Requests {
  constructor() {
    this.told = { requests: [] };
  }

  take(told) {
    this.told = told;
  }

  rows(filter) {
    const wanted = this.told.requests.filter((one) => `${one.user} ${one.verb} ${one.what} ${one.code}`.toLowerCase().includes(filter));
    const isOperator = ({ user }) => user === this.told.operator;
    return wanted.sort((a, b) => isRefused(b) - isRefused(a) || isOperator(b) - isOperator(a) || b.count - a.count).map((one) => ({
      id: idOf(one),
      cells: () => [
        element("span", "name", `${one.verb} `, element("b", "", one.what), element("span", "note", isOperator(one) ? "the operator" : one.user)),
        element("span", isRefused(one) ? "bad" : one.code >= 400 ? "busy" : "good", one.code || "no answer"),
        element("span", "number", `${one.count}×`),
      ],
    }));
  }

  detail(id) {
    const one = this.told.requests.find((request) => idOf(request) === id);
    const chosen = one ? [element("h2", "", `${one.verb} ${one.what}`), element("p", "", `${counted(one.count, "request")} of ${one.user}, answered with ${one.code || "nothing"}`)] : [];
    return [...chosen, ...this.rights()];
  }

  /** What the operator may do, and does not; what it may not, and tried. */
  rights() {
    const { operator, missing, unused, used, traced } = this.told;
    const source = traced ? element("p", "faint", "As its trace has them: what its caches list and watch is not among them.") : null;
    if (!operator) return [element("p", "faint", this.told.requests.length ? "Which rights the operator has is not known." : "Nothing was asked for yet."), source].filter(Boolean);
    if (!missing) return [element("h2", "", "The operator's requests"), element("p", "faint", `It is ${operator}. Type its name to see only them.`)];
    return [
      element("h2", "", "The operator's rights"),
      element("p", "faint", operator),
      source,
      missing.length + unused.length === 0 ? element("p", "good", "It has the rights it used, and was refused nothing.") : null,
      section("Missing", missing.map((text) => element("li", "bad", text))),
      section("Never used so far", unused.map((text) => element("li", "", text.replace(/^never used: /, "")))),
      section("Used", used.map((text) => element("li", "", text))),
    ].filter(Boolean);
  }
}

function idOf({ user, verb, what, code }) {
  return `${user} ${verb} ${what} ${code}`;
}

function isRefused({ code }) {
  return code === 401 || code === 403;
}
