// How the operator stands with the command that runs it: built, running, or why not.

import { clock, duration, element } from "/dom.js";

export class Session {
  constructor() {
    this.now = { state: "waiting" };
  }

  take(now) {
    this.now = now;
  }

  /** In a few words, for the head of the page. */
  words() {
    const { state, compiler, rest, since, isRunning, how } = this.now;
    switch (state) {
      case "building": return isRunning ? "building; the one before goes on" : "building";
      case "running": return `runs since ${clock(since).slice(0, 8)}${compiler ? `: cargo ${duration(compiler)}, the rest ${duration(rest)}` : ""}`;
      case "buildFailed": return isRunning ? "does not build; the one before goes on" : "does not build";
      case "notStarted": return isRunning ? "is not started anew; the one before goes on" : "is not started";
      case "ended": return `ended with ${how}`;
      default: return "";
    }
  }

  /** What has to be read before anything else; nothing while all is well. */
  trouble() {
    const { state, errors, why } = this.now;
    if (state !== "buildFailed" && state !== "notStarted") return [];
    return [element("h2", "bad", `The operator ${this.words()}`), element("pre", "", errors ?? why)];
  }

  get standing() {
    return { building: "busy", running: "good", buildFailed: "bad", notStarted: "bad", ended: "bad" }[this.now.state] ?? "faint";
  }
}
