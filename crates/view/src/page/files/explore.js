// Explorations: the grid of what was tried, and what was found.

import { ask, clock, counted, duration, element, link } from "/dom.js";
import { button } from "/edit.js";
import { Play, findingPath } from "/play.js";

const MARKS = { passed: "✓", different: "✗", unreached: "–", "no time": "…", "not asked for": "·" };

export class Explore {
  constructor() {
    this.list = [];
    this.loaded = null;
    this.drawn = null;
    this.play = new Play();
  }

  /** Reads the reports; there may be new ones whenever the view is opened. */
  async open(redraw) {
    const told = await ask("/api/explorations", {});
    this.list = told?.explorations ?? [];
    this.loaded = null;
    redraw();
  }

  /** The reports; or what happened in a finding, while that is played. */
  rows(filter, chosen) {
    const playing = this.playing(chosen);
    if (playing) return this.play.rows(playing, filter);
    return this.list.filter(({ name }) => name.toLowerCase().includes(filter)).map((one) => ({
      id: one.name,
      cells: () => [
        element("span", "name", element("b", "", one.name), element("span", "note", one.error ?? `${counted(one.runs, "run")}, ${duration(one.seconds ?? 0)}, ${clock(one.at).slice(0, 8)}`)),
        one.error ? element("span", "bad", "failed") : element("span", one.findings ? "bad" : "good", one.findings ? `${one.findings} found` : "nothing found"),
      ],
    }));
  }

  /** What is played, if `NAME/FINDING/EVENT` is chosen: the finding and its story, once they are read. */
  playing(chosen) {
    const [name, number, at] = (chosen ?? "").split("/");
    const report = this.loaded?.name === name ? this.loaded.report : null;
    const finding = report?.findings?.[Number(number) - 1];
    const story = report?.stories?.[finding?.played];
    return number && story?.length ? { name, finding, number: Number(number), story, at: Math.min(Math.max(Number(at) || 1, 1), story.length) } : null;
  }

  detail(chosen, redraw) {
    if (!this.list.length) return [element("p", "faint", "There is no report yet. "), element("p", "faint", "`kubewright explore` tries crashes, lost answers and stale caches, and leaves one here.")];
    if (!chosen) return [element("p", "faint", "Choose an exploration.")];
    const name = chosen.split("/")[0];
    if (this.loaded?.name !== name) this.load(name, redraw);
    const { report, cell } = this.loaded;
    if (!report) return [element("p", "faint", "It is read.")];
    const playing = this.playing(chosen);
    if (playing) return this.play.detail(playing);
    if (this.drawn?.report !== report || this.drawn.cell !== cell) this.drawn = { report, cell, elements: this.elements(report, redraw) };
    return this.drawn.elements;
  }

  async load(name, redraw) {
    this.loaded = { name, report: null, cell: null };
    const report = await ask("/api/explorations", { name });
    if (this.loaded.name !== name) return;
    this.loaded.report = report ?? { error: "The report cannot be read.", tried: [], findings: [] };
    redraw();
  }

  elements(report, redraw) {
    const tried = report.tried ?? [];
    return [
      element("h2", "", report.name ?? this.loaded.name),
      element("p", report.error ? "bad" : "faint", report.error ?? report.summary),
      ...(report.findings ?? []).map((finding, at) => this.finding(report, finding, at + 1)),
      ...[...new Set(tried.map(({ step }) => step))].map((step) => this.grid(report, step, tried.filter((one) => one.step === step), redraw)),
    ].filter(Boolean);
  }

  /** Places down, faults across. */
  grid(report, step, tried, redraw) {
    const faults = [...new Set(tried.map(({ fault }) => fault))];
    const places = [...new Set(tried.map(({ place }) => place))];
    const head = element("tr", "", heading("place", "col"), ...faults.map((fault) => heading(fault, "col")));
    const rows = places.map((place) => element("tr", "", heading(place, "row"), ...faults.map((fault) => {
      const one = tried.find((tried) => tried.place === place && tried.fault === fault);
      if (!one) return element("td");
      const made = button(MARKS[one.outcome] ?? "?", () => { this.loaded.cell = this.loaded.cell === one ? null : one; redraw(); });
      made.className = `cell ${{ passed: "good", different: "bad" }[one.outcome] ?? "faint"}`;
      made.title = one.plan;
      made.setAttribute("aria-label", `${one.outcome}: ${one.plan}`);
      made.setAttribute("aria-pressed", String(this.loaded.cell === one));
      return element("td", "", made);
    })));
    const table = element("div", "scroll", element("table", "grid", element("thead", "", head), element("tbody", "", ...rows)));
    table.tabIndex = 0;
    table.setAttribute("role", "region");
    table.setAttribute("aria-label", `What was tried in step ${step}`);
    const cell = this.loaded.cell?.step === step ? this.loaded.cell : null;
    return element("section", "", element("h3", "", `Step ${step}`), table, cell ? this.cell(report, cell) : null);
  }

  /** What came of the plan of a cell. */
  cell(report, { outcome, plan, differences }) {
    const found = (differences ?? []).map((text) => {
      const number = report.findings.findIndex(({ difference }) => difference === text) + 1;
      return element("li", "bad", number ? link(findingPath(this.loaded.name, number), text) : text);
    });
    return element("div", "", element("p", "", element("b", outcome === "different" ? "bad" : "", outcome), ` ${plan}`), found.length ? element("ul", "", ...found) : null);
  }

  /** A finding, and the way to its story. */
  finding(report, finding, number) {
    const { difference, plan, step, details, parted, otherPlans } = finding;
    const length = report.stories?.[finding.played]?.length ?? 0;
    return element("section", "finding", element("h3", "bad", difference),
      element("p", "faint", `${plan ?? "without any disturbance"}${step ? `, seen after step ${step}` : ""}${otherPlans ? `; ${counted(otherPlans, "other plan")} show${otherPlans === 1 ? "s" : ""} the same` : ""}`),
      ...(parted?.length ? [element("p", "busy", "Two runs of this plan differ:"), element("pre", "", parted.join("\n"))] : []),
      details.length ? element("pre", "", details.join("\n")) : null,
      length ? element("p", "", link(findingPath(this.loaded.name, number), "Play step by step"), element("span", "faint", ` · ${counted(length, "event")}`)) : element("p", "faint", "The operator wrote nothing."));
  }

  /** Leads from a finding back to its report, and closes a cell. The place to go to, or whether there was something to close. */
  escape(redraw, chosen, choose) {
    if (chosen?.includes("/")) choose(chosen.split("/")[0]);
    else if (this.loaded?.cell) {
      this.loaded.cell = null;
      redraw();
    } else return false;
    return true;
  }
}

function heading(text, scope) {
  const made = element("th", "", text);
  made.scope = scope;
  return made;
}
