// What the operator says of itself: its controllers with queues and workers, its caches, its lease; and how it went.

import { counted, duration, element, section } from "/dom.js";
import { plot } from "/plot.js";

const MOST_SAMPLES = 600;

export class Operator {
  constructor() {
    this.page = null;
    this.unreachable = null;
    this.samples = [];
  }

  take({ page, samples, unreachable }) {
    this.page = page;
    this.unreachable = unreachable;
    // After a connection that broke they are all told again.
    const last = this.samples.at(-1)?.at ?? -Infinity;
    this.samples = [...this.samples, ...samples.filter(({ at }) => at > last)].slice(-MOST_SAMPLES);
  }

  rows(filter) {
    if (!this.page?.controllers) return [];
    const controllers = this.page.controllers.map((one) => ({
      id: `controller ${one.name}`,
      text: one.name,
      cells: () => [
        element("span", "name", "controller ", element("b", "", one.name), element("span", "note", queueText(one))),
        element("span", one.lastError ? "bad" : "good", `${one.busy ?? 0} of ${one.workers} at work`),
      ],
    }));
    const caches = this.page.informers.map((one) => ({
      id: `cache ${one.apiVersion ?? ""} ${one.kind}`,
      text: one.kind,
      cells: () => [
        element("span", "name", "cache ", element("b", "", one.kind), element("span", "note", cacheText(one))),
        element("span", one.synced ? "good" : "busy", one.synced ? "synced" : "not synced"),
      ],
    }));
    const lease = this.page.lease && {
      id: "lease",
      text: "lease",
      cells: () => [
        element("span", "name", "lease ", element("b", "", this.page.lease.leader ?? "nobody"), element("span", "note", leaseText(this.page.lease))),
        element("span", this.page.lease.leads ? "good" : "faint", this.page.lease.leads ? "leads" : "waits"),
      ],
    };
    const all = {
      id: "all",
      text: "",
      cells: () => [element("span", "name", element("b", "", "all"), element("span", "note", `${counted(controllers.length, "controller")}, ${counted(caches.length, "cache")}`))],
    };
    const rows = [...controllers, ...caches, lease].filter((row) => row && row.text.toLowerCase().includes(filter));
    return filter ? rows : [all, ...rows];
  }

  detail(id) {
    const plots = element("div", "plots", ...this.plots());
    const controller = this.page?.controllers?.find((one) => `controller ${one.name}` === id);
    if (controller) return [element("h2", "", `controller ${controller.name}`), ...controllerParts(controller), ...plotted(plots)];
    const cache = this.page?.informers?.find((one) => `cache ${one.apiVersion ?? ""} ${one.kind}` === id);
    if (cache) return [element("h2", "", `cache of ${cache.kind}`), element("p", "", cacheText(cache)), section("Troubles", cache.troubles.map((text) => element("li", "bad", text))), ...plotted(plots)].filter(Boolean);
    if (this.unreachable) return [element("p", "busy", `The operator cannot be asked: ${this.unreachable}`)];
    if (!this.page) return [element("p", "faint", "The operator has not said anything yet.")];
    return [element("h2", "", "All controllers and caches"), plots];
  }

  plots() {
    const rate = (name) => this.samples.slice(1).map((sample, at) => {
      const before = this.samples[at];
      return Math.max(0, ((sample[name] - before[name]) * 1000) / Math.max(1, sample.at - before.at));
    });
    const last = (values) => values.at(-1) ?? 0;
    const seconds = ((this.samples.at(-1)?.at ?? 0) - (this.samples[0]?.at ?? 0)) / 1000;
    const number = (value, unit) => `${Number(value.toFixed(1))}${unit}`;
    const line = (name, values, unit = "") => plot(name, values, number(last(values), unit), `at most ${number(Math.max(0, ...values), unit)} in ${duration(seconds)}`);
    const value = (name) => this.samples.map((sample) => sample[name]);
    return [
      line("Reconciles", rate("done"), "/s"),
      line("Failures", rate("failed"), "/s"),
      line("Keys that wait for a worker", value("ready")),
      line("Workers at work", value("busy")),
      line("Objects in caches", value("objects")),
    ];
  }
}

function plotted(plots) {
  return [element("h3", "", "All controllers and caches"), plots];
}

function queueText({ ready, waiting, running }) {
  return `${ready.count} ready, ${running.length} running, ${waiting.count} wait for their time`;
}

function cacheText({ objects, bytes, lastEvent, metadataOnly }) {
  const held = bytes === undefined ? "" : `, ${bytes < 10_000 ? `${bytes} bytes` : `${Math.round(bytes / 1024)} KiB`}`;
  const last = lastEvent ? `, last event ${duration(lastEvent.secondsAgo)} ago @${lastEvent.revision}` : ", no event yet";
  return `${counted(objects, "object")}${held}${last}${metadataOnly ? ", metadata only" : ""}`;
}

function leaseText({ identity, transitions, renewedSecondsAgo }) {
  const renewed = typeof renewedSecondsAgo === "number" ? `, renewed ${duration(renewedSecondsAgo)} ago` : "";
  return `this is ${identity}, ${counted(transitions, "transition")}${renewed}`;
}

function controllerParts(one) {
  const counts = Object.entries(one.reconciles).filter(([name, count]) => count > 0 && name !== "seconds");
  const oldest = one.ready.oldestSeconds;
  const keys = (list, text) => list.map((item) => element("li", "", element("b", "", item.key), ` ${text(item)}`));
  return [
    element("p", "", `${one.busy ?? 0} of ${one.workers} workers at work`, typeof oldest === "number" ? `, the oldest key is ready since ${duration(oldest)}` : ""),
    one.lastError ? element("pre", "bad", one.lastError) : null,
    section("Reconciles", counts.map(([name, count]) => element("li", "", `${name}: ${count}`))),
    section(`Running: ${one.running.length}`, keys(one.running, (item) => `for ${duration(item.forSeconds)}${item.again ? ", and again afterwards" : ""}`)),
    section(`Ready: ${one.ready.count}`, keys(one.ready.first, (item) => (item.priority ? `priority ${item.priority}` : ""))),
    section(`Wait for their time: ${one.waiting.count}`, keys(one.waiting.first, (item) => `in ${duration(item.dueInSeconds)}${item.failures ? `, failed ${item.failures} times` : ""}`)),
  ].filter(Boolean);
}
