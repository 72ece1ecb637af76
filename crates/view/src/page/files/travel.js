// Time travel: a slider over the revisions, and what differs between one of them and another. Null is the present, which goes on.

import { ask, clock, element, send } from "/dom.js";

export class Travel {
  /** `changed` is called when another moment is looked at, or another difference. */
  constructor(place, changed) {
    this.place = place;
    this.changed = changed;
    this.revision = null;
    /** The moment from which on differences are shown; null while there is nothing to compare with. */
    this.since = null;
    /** What was answered last, and to which question. */
    this.told = null;
    this.answered = null;
    /** The revisions that can be looked at; null until they are told. */
    this.range = null;
    this.isAsking = false;
    this.forks = false;
    this.slider = element("input");
    Object.assign(this.slider, { type: "range", step: 1, id: "revision" });
    this.slider.setAttribute("aria-label", "Revision");
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.words = element("output", "number");
    this.words.setAttribute("for", "revision");
    this.live = button("Live", () => this.go(null));
    this.live.id = "live";
    this.comparing = button("Compare from here", () => this.toggle());
    this.comparing.id = "compare";
    this.fork = button("Fork from here", () => this.forkHere());
    this.fork.id = "fork";
    this.forked = element("span");
    this.forked.setAttribute("role", "status");
    place.prepend(this.live, button("◀", () => this.step(-1), "Previous revision"), this.slider, button("▶", () => this.step(1), "Next revision"),
      this.words, this.comparing, this.fork, this.forked);
  }

  take({ oldest, newest }) {
    const isFirst = this.range === null;
    this.range = { oldest, newest };
    // A link may have led to moments before it was known which there are.
    if (isFirst && this.revision !== null) this.revision = this.within(this.revision);
    if (isFirst && this.since !== null) this.since = this.within(this.since);
    if (this.isLoading) this.load();
    this.draw();
  }

  /** Looks at a revision, or at the present. */
  go(revision) {
    this.look(revision, this.since);
  }

  /** Looks at a revision or at the present, and at what differs from an earlier or later one, or at everything. */
  look(revision, since) {
    const known = (moment) => (moment === null || this.range === null ? moment : this.within(moment));
    const wanted = { revision: known(revision), since: known(since) };
    if (wanted.revision === this.revision && wanted.since === this.since) return;
    Object.assign(this, wanted);
    if (this.question === null) this.told = this.answered = null;
    this.draw();
    if (!this.isLoading) this.changed();
    else if (this.range !== null) this.load();
  }

  /** Begins to compare with the moment that is shown, or ends it. */
  toggle() {
    if (this.range !== null) this.look(this.revision, this.since === null ? this.revision ?? this.range.newest : null);
  }

  within(revision) {
    return Math.min(Math.max(revision, this.range.oldest), this.range.newest);
  }

  /** What the server is asked for; null while the present is shown, which the news tell. */
  get question() {
    if (this.since !== null) return { path: "/api/between", from: this.since, to: this.revision ?? this.range?.newest ?? this.since };
    return this.revision === null ? null : { path: "/api/tree", revision: this.revision };
  }

  /** Whether a moment is wanted of which the objects are not there yet. */
  get isLoading() {
    return this.question !== null && JSON.stringify(this.question) !== this.answered;
  }

  /** Asks for what is wanted. While the slider is drawn only the last place counts: one request is on its way at a time. */
  async load() {
    if (this.isAsking) return;
    this.isAsking = true;
    while (this.isLoading) {
      const { path, ...parameters } = this.question;
      const stamp = JSON.stringify(this.question);
      const told = await ask(path, parameters);
      if (JSON.stringify(this.question) !== stamp) continue;
      this.answered = stamp;
      this.told = told ?? { objects: [], changes: [] };
    }
    this.isAsking = false;
    // Now it is known when that was, or what differs.
    this.draw();
    if (this.question !== null) this.changed();
  }

  step(by) {
    if (this.range !== null) this.go((this.revision ?? this.range.newest) + by);
  }

  draw() {
    const { oldest, newest } = this.range ?? { oldest: 0, newest: 0 };
    this.slider.min = oldest;
    this.slider.max = newest;
    this.slider.value = this.revision ?? newest;
    this.live.setAttribute("aria-pressed", String(this.revision === null));
    this.comparing.setAttribute("aria-pressed", String(this.since !== null));
    this.comparing.textContent = this.since === null ? "Compare from here" : `Compared with @${this.since} ✕`;
    this.comparing.title = this.since === null ? "Then move the slider: what came, went and changed in between is listed" : "Show everything again";
    this.fork.hidden = !this.forks;
    this.words.textContent = this.since === null ? this.moment(newest) : this.difference();
    this.place.classList.toggle("past", this.revision !== null || this.since !== null);
  }

  moment(newest) {
    if (this.revision === null) return `now, @${newest}`;
    const times = this.isLoading ? [] : this.told?.objects?.map((object) => object.at) ?? [];
    return `as it was @${this.revision}${times.length ? ` · ${clock(Math.max(...times)).slice(0, 8)}` : ""}`;
  }

  /** What differs, counted. */
  difference() {
    if (!this.told?.changes) return `@${this.since} → ${this.revision === null ? "now" : `@${this.revision}`}`;
    const { from, to, changes } = this.told;
    const count = (became) => changes.filter((one) => one.became === became).length;
    const parts = [["created", "created"], ["changed", "changed"], ["deleted", "deleted"], ["passing", "came and went"]];
    const words = parts.map(([became, text]) => (count(became) ? `${count(became)} ${text}` : "")).filter(Boolean);
    return `@${from} → ${this.revision === null ? "now, " : ""}@${to} · ${words.length ? words.join(", ") : "nothing differs"}`;
  }

  async forkHere() {
    if (this.range === null) return;
    const revision = this.revision ?? this.range.newest;
    this.forked.replaceChildren("starting…");
    const { ok, body } = await send("/api/fork", { revision });
    if (!ok) {
      this.forked.replaceChildren(element("span", "bad", body.message));
      return;
    }
    const link = element("a", "", `its page, from @${body.revision}`);
    Object.assign(link, { href: body.link, target: "_blank", rel: "noopener" });
    this.forked.replaceChildren("A second cluster runs: ", link, " · ", element("code", "", `export KUBECONFIG=${body.kubeconfig}`));
  }
}

function button(text, act, label) {
  const made = element("button", "", text);
  made.type = "button";
  if (label) made.setAttribute("aria-label", label);
  made.addEventListener("click", act);
  return made;
}
