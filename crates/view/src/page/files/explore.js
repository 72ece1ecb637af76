// Explorations: the grid of what was tried, and each finding played step by step.

import { ask, clock, duration, element } from "/dom.js";
import { button } from "/edit.js";

const MARKS = { passed: "✓", different: "✗", unreached: "–", "no time": "…", "not asked for": "·" };

export class Explore {
  constructor() {
    this.list = [];
    this.loaded = null;
    this.drawn = null;
  }

  /** Reads the reports; there may be new ones whenever the view is opened. */
  async open(redraw) {
    const told = await ask("/api/explorations", {});
    this.list = told?.explorations ?? [];
    this.loaded = null;
    redraw();
  }

  rows(filter) {
    return this.list.filter(({ name }) => name.toLowerCase().includes(filter)).map((one) => ({
      id: one.name,
      cells: () => [
        element("span", "name", element("b", "", one.name), element("span", "note", one.error ?? `${one.runs} runs, ${duration(one.seconds ?? 0)}, ${clock(one.at).slice(0, 8)}`)),
        one.error ? element("span", "bad", "failed") : element("span", one.findings ? "bad" : "good", one.findings ? `${one.findings} found` : "nothing found"),
      ],
    }));
  }

  detail(name, redraw) {
    if (!this.list.length) return [element("p", "faint", "There is no report yet. "), element("p", "faint", "`kubewright explore` tries crashes, lost answers and stale caches, and leaves one here.")];
    if (!name) return [element("p", "faint", "Choose an exploration.")];
    if (this.loaded?.name !== name) this.load(name, redraw);
    const { report, cell, playing } = this.loaded;
    if (!report) return [element("p", "faint", "It is read.")];
    if (this.drawn?.report !== report || this.drawn.cell !== cell || this.drawn.at !== playing?.at || this.drawn.finding !== playing?.finding) {
      this.drawn = { report, cell, at: playing?.at, finding: playing?.finding, elements: this.elements(report, redraw) };
    }
    return this.drawn.elements;
  }

  async load(name, redraw) {
    this.loaded = { name, report: null, cell: null, playing: null };
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
      ...(report.findings ?? []).map((finding, at) => this.finding(finding, at, redraw)),
      this.loaded.cell ? element("p", "", element("b", this.loaded.cell.outcome === "different" ? "bad" : "", this.loaded.cell.outcome), ` ${this.loaded.cell.plan}`,
        ...(this.loaded.cell.differences ?? []).map((text) => element("span", "bad", ` · ${text}`))) : null,
      ...[...new Set(tried.map(({ step }) => step))].map((step) => this.grid(step, tried.filter((one) => one.step === step), redraw)),
    ].filter(Boolean);
  }

  /** Places down, faults across. */
  grid(step, tried, redraw) {
    const faults = [...new Set(tried.map(({ fault }) => fault))];
    const places = [...new Set(tried.map(({ place }) => place))];
    const head = element("tr", "", heading("place", "col"), ...faults.map((fault) => heading(fault, "col")));
    const rows = places.map((place) => element("tr", "", heading(place, "row"), ...faults.map((fault) => {
      const one = tried.find((tried) => tried.place === place && tried.fault === fault);
      if (!one) return element("td");
      const made = button(MARKS[one.outcome] ?? "?", () => { this.loaded.cell = one; redraw(); });
      made.className = `cell ${{ passed: "good", different: "bad" }[one.outcome] ?? "faint"}`;
      made.title = one.plan;
      made.setAttribute("aria-label", `${one.outcome}: ${one.plan}`);
      return element("td", "", made);
    })));
    const table = element("div", "scroll", element("table", "grid", element("thead", "", head), element("tbody", "", ...rows)));
    table.tabIndex = 0;
    table.setAttribute("role", "region");
    table.setAttribute("aria-label", `What was tried in step ${step}`);
    return element("section", "", element("h3", "", `Step ${step}`), table);
  }

  /** A finding, as far as it is played. */
  finding(finding, number, redraw) {
    const { outcome, lines } = told(finding.story);
    const isPlaying = this.loaded.playing?.finding === number;
    const at = isPlaying ? this.loaded.playing.at : 0;
    const go = (to) => () => {
      this.loaded.playing = { finding: number, at: Math.min(Math.max(to, 1), lines.length) };
      redraw();
    };
    const shown = isPlaying ? lines.slice(0, at) : [];
    return element("section", "finding", element("h3", "bad", finding.difference), element("p", "faint", finding.plan ?? "without any disturbance"),
      ...outcome.map((line) => element("p", "", line)),
      element("p", "buttons", isPlaying ? button("◀ Back", go(at - 1)) : null, button(isPlaying ? "Next ▶" : "Play step by step", go(at + 1)),
        button("All", go(lines.length)), isPlaying ? element("span", "number", ` ${at} of ${lines.length}`) : null),
      shown.length ? element("ol", "story", ...shown.map((line, place) => played(line, place === at - 1))) : null);
  }

  /** The next or the previous line of what is played. */
  step(by, redraw) {
    if (!this.loaded?.playing) return false;
    const lines = told(this.loaded.report.findings[this.loaded.playing.finding].story).lines.length;
    this.loaded.playing = { ...this.loaded.playing, at: Math.min(Math.max(this.loaded.playing.at + by, 1), lines) };
    redraw();
    return true;
  }

  escape(redraw) {
    if (!this.loaded?.playing && !this.loaded?.cell) return false;
    this.loaded.playing = this.loaded.cell = null;
    redraw();
    return true;
  }
}

/** A story in parts: what came of it, and what happened until then, line by line with its depth. */
function told(story) {
  const all = story.split("\n").map((line) => ({ text: line.trim(), depth: line.length - line.trimStart().length }));
  const begin = all.findIndex(({ text }) => text === "what happened:");
  const end = all.findIndex(({ depth }, at) => at > begin && depth <= all[begin]?.depth);
  const lines = begin < 0 ? all : all.slice(begin + 1, end < 0 ? all.length : end);
  return { outcome: all.slice(1, Math.max(begin, 1)).map(({ text }) => text), lines };
}

/** A line of what happened, below what it belongs to. */
function played({ text, depth }, isNow) {
  const made = element("li", isNow ? "now" : "", text);
  made.style.paddingInlineStart = `${depth / 2}ch`;
  return made;
}

function heading(text, scope) {
  const made = element("th", "", text);
  made.scope = scope;
  return made;
}
