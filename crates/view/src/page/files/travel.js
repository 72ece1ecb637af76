// Time travel: a slider over the revisions. Null is the present, which goes on.

import { ask, clock, element, send } from "/dom.js";

export class Travel {
  /** `changed` is called when another moment is looked at. */
  constructor(place, changed) {
    this.place = place;
    this.changed = changed;
    this.revision = null;
    this.objects = null;
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
    this.fork = button("Fork from here", () => this.forkHere());
    this.fork.id = "fork";
    this.forked = element("span");
    this.forked.setAttribute("role", "status");
    place.append(this.live, button("◀", () => this.step(-1), "Previous revision"), this.slider, button("▶", () => this.step(1), "Next revision"),
      this.words, this.fork, this.forked);
  }

  take({ oldest, newest }) {
    const isFirst = this.range === null;
    this.range = { oldest, newest };
    // A link may have led to a moment before it was known which there are.
    if (isFirst && this.revision !== null) {
      this.revision = this.within(this.revision);
      this.load();
    }
    this.draw();
  }

  /** Looks at a revision, or at the present. */
  go(revision) {
    const wanted = revision === null || this.range === null ? revision : this.within(revision);
    if (wanted === this.revision) return;
    this.revision = wanted;
    this.objects = null;
    this.draw();
    if (wanted === null) this.changed();
    else if (this.range !== null) this.load();
  }

  within(revision) {
    return Math.min(Math.max(revision, this.range.oldest), this.range.newest);
  }

  /** Whether a moment is wanted of which the objects are not there yet. */
  get isLoading() {
    return this.revision !== null && this.objects === null;
  }

  /** Asks for what is wanted. While the slider is drawn only the last place counts: one request is on its way at a time. */
  async load() {
    if (this.isAsking) return;
    this.isAsking = true;
    while (this.isLoading) {
      const wanted = this.revision;
      const tree = await ask("/api/tree", { revision: wanted });
      if (this.revision === wanted) this.objects = tree?.objects ?? [];
    }
    this.isAsking = false;
    // Now it is known when that was.
    this.draw();
    if (this.revision !== null) this.changed();
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
    this.fork.hidden = !this.forks;
    const times = this.objects?.map((object) => object.at) ?? [];
    const at = times.length ? ` · ${clock(Math.max(...times)).slice(0, 8)}` : "";
    this.words.textContent = this.revision === null ? `now, @${newest}` : `as it was @${this.revision}${at}`;
    this.place.classList.toggle("past", this.revision !== null);
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
