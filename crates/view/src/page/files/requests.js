// What was asked of the API server, by whom and with what answer; and what rights the operator lacks or never used.

import { element, section } from "/dom.js";

export class Requests {
  constructor() {
    this.told = { requests: [] };
  }

  take(told) {
    this.told = told;
  }

  rows(filter) {
    const wanted = this.told.requests.filter((one) => `${one.user} ${one.verb} ${one.what} ${one.code}`.toLowerCase().includes(filter));
    return wanted.sort((a, b) => isRefused(b) - isRefused(a) || b.count - a.count).map((one) => ({
      id: `${one.user} ${one.verb} ${one.what} ${one.code}`,
      cells: () => [
        element("span", "name", `${one.verb} `, element("b", "", one.what), element("span", "note", one.user)),
        element("span", isRefused(one) ? "bad" : one.code >= 400 ? "busy" : "good", one.code || "no answer"),
        element("span", "number", `${one.count}×`),
      ],
    }));
  }

  detail() {
    const { operator, missing, unused } = this.told;
    if (!operator) return [element("p", "faint", "Requests are counted for the cluster in this process.")];
    if (!missing) return [element("h2", "", "The operator's requests"), element("p", "faint", `It is ${operator}. Type its name to see only them.`)];
    return [
      element("h2", "", "The operator's rights"),
      element("p", "faint", operator),
      section("Missing", missing.map((text) => element("li", "bad", text))),
      section("Never used so far", unused.map((text) => element("li", "", text))),
      missing.length + unused.length === 0 ? element("p", "good", "It has the rights it used, and was refused nothing.") : null,
    ].filter(Boolean);
  }
}

function isRefused({ code }) {
  return code === 401 || code === 403;
}
