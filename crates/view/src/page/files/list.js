// A list of which only the rows that can be seen are elements, so that ten thousand cost what fifty do.

import { element } from "/dom.js";

// Rows that are drawn above and below what can be seen.
const BEYOND = 8;

export class List {
  /** A list in an element that scrolls. `choose` is called with the id of a row that was clicked. */
  constructor(place, choose) {
    this.place = place;
    this.choose = choose;
    this.items = [];
    this.chosen = null;
    this.height = 44;
    /** Where it is scrolled to and how much of it can be seen: known, and not asked for, because asking makes the browser lay out the page. */
    this.top = 0;
    this.visible = place.clientHeight;
    this.room = element("div", "room");
    place.replaceChildren(this.room);
    place.addEventListener("scroll", () => this.look(), { passive: true });
    new ResizeObserver(() => this.resized()).observe(place);
  }

  /** Shows items: `{ id, className, cells() }`, where cells are made only for rows that are drawn. A chosen row that could be seen still can, however many
   * come above it. */
  show(items, chosen) {
    const wasSeen = chosen !== null && chosen === this.chosen && this.isSeen();
    this.items = items;
    this.chosen = chosen;
    this.draw();
    if (wasSeen && !this.isSeen()) this.reveal(chosen);
  }

  /** Shows one line instead of items. */
  say(text, className) {
    this.show([{ id: null, className: className ?? "faint", cells: () => [element("span", "name", text)] }], null);
  }

  /** It was scrolled. */
  look() {
    this.top = this.place.scrollTop;
    this.visible = this.place.clientHeight;
    this.draw();
  }

  /** It has another size, as when something above it takes more room. */
  resized() {
    const wasSeen = this.isSeen();
    this.look();
    if (wasSeen) this.reveal(this.chosen);
  }

  /** Whether the chosen row can be seen. */
  isSeen() {
    const top = this.items.findIndex((item) => item.id === this.chosen) * this.height;
    return top >= this.top && top + this.height <= this.top + this.visible;
  }

  draw() {
    const hadFocus = this.room.contains(document.activeElement);
    const first = Math.max(0, Math.floor(this.top / this.height) - BEYOND);
    const last = Math.min(this.items.length, Math.ceil((this.top + this.visible) / this.height) + BEYOND);
    this.room.style.height = `${this.items.length * this.height}px`;
    this.room.replaceChildren(...this.items.slice(first, last).map((item, at) => this.row(item, first + at)));
    if (hadFocus) (this.room.querySelector("[aria-current]") ?? this.place).focus({ preventScroll: true });
  }

  row(item, index) {
    const row = element(item.id === null ? "p" : "button", `row ${item.className ?? ""}`, ...item.cells());
    row.style.top = `${index * this.height}px`;
    row.style.height = `${this.height}px`;
    if (item.id === null) return row;
    row.type = "button";
    // The list is one stop on the way by Tab; j and k choose in it.
    row.tabIndex = -1;
    row.dataset.id = item.id;
    if (item.id === this.chosen) row.setAttribute("aria-current", "true");
    row.addEventListener("click", () => this.choose(item.id));
    return row;
  }

  /** The id of the row so many below the chosen one, or of the first. */
  next(by) {
    const now = this.items.findIndex((item) => item.id === this.chosen);
    const next = this.items[now < 0 ? 0 : Math.min(Math.max(now + by, 0), this.items.length - 1)];
    return next?.id ?? null;
  }

  /** Scrolls so far that a row can be seen. Whether there is one. */
  reveal(id) {
    const index = this.items.findIndex((item) => item.id === id);
    if (index < 0) return false;
    const top = index * this.height;
    if (top < this.place.scrollTop) this.place.scrollTop = top;
    const below = top + this.height - this.place.clientHeight;
    if (below > this.place.scrollTop) this.place.scrollTop = below;
    this.look();
    return true;
  }
}
