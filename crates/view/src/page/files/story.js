// A story beside the page: its chapters as they are told, each with the moment at which it began and the objects it is about.

import { element, link } from "/dom.js";

export class Story {
  constructor(place) {
    this.place = place;
    this.chapters = new Map();
  }

  /** Takes the chapters that began or went on. Those that can be read stay as they are, opened or closed. */
  take({ chapters }) {
    const isAtEnd = this.place.scrollTop + this.place.clientHeight >= this.place.scrollHeight - 8;
    if (this.place.hidden) this.place.append(element("h2", "", "The story"));
    this.place.hidden = false;
    for (const chapter of chapters) {
      if (!this.chapters.has(chapter.number)) this.begin(chapter);
      this.chapters.get(chapter.number).replaceChildren(...chapter.lines.map(line));
    }
    if (isAtEnd) this.place.scrollTop = this.place.scrollHeight;
  }

  /** A chapter begins, and the one before it is closed. */
  begin({ number, title, words, revision }) {
    for (const before of this.place.querySelectorAll("details[open]")) if (!before.contains(document.activeElement)) before.open = false;
    const lines = element("ol", "told");
    const chapter = element("details", "", element("summary", "", `${number}. ${title}`), element("p", "faint", words),
      revision ? element("p", "", link(`#objects//at/${revision}`, `the cluster before it, @${revision}`)) : null, lines);
    chapter.open = true;
    this.chapters.set(number, lines);
    this.place.append(chapter);
  }

  /** The chapter that was begun last has the keyboard. */
  focus() {
    this.place.querySelector("details:last-of-type summary")?.focus();
  }
}

function line({ is, text, uid, revision }) {
  if (is === "command") return element("li", "", element("code", "", `$ ${text}`));
  if (is === "refused") return element("li", "bad", text);
  return element("li", "", uid ? link(`#objects/${uid}/at/${revision}`, text) : text);
}
