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
    /** The elements of rows that are drawn, by id. */
    this.drawn = new Map();
    /** While a pointer is pressed on a row, rows stay where they are, however much comes: or what is released would be another row. */
    this.isHeld = false;
    this.kept = null;
    this.room = element("div", "room");
    place.replaceChildren(this.room);
    place.addEventListener("scroll", () => this.look(), { passive: true });
    place.addEventListener("pointerdown", () => { this.isHeld = true; });
    // Once what was pressed is clicked.
    for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, () => setTimeout(() => this.release()));
    new ResizeObserver(() => this.resized()).observe(place);
  }

  /** Shows items: `{ id, className, cells() }`, where cells are made only for rows that are drawn. A chosen row that could be seen still can, however many
   * come above it. */
  show(items, chosen) {
    if (this.isHeld) {
      this.kept = { items, chosen };
      return;
    }
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

  /** Shows what came while a pointer was pressed. */
  release() {
    if (!this.isHeld) return;
    this.isHeld = false;
    if (this.kept) this.show(this.kept.items, this.kept.chosen);
    this.kept = null;
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
    const before = this.drawn;
    const first = Math.max(0, Math.floor(this.top / this.height) - BEYOND);
    const last = Math.min(this.items.length, Math.ceil((this.top + this.visible) / this.height) + BEYOND);
    this.room.style.height = `${this.items.length * this.height}px`;
    this.drawn = new Map(this.items.slice(first, last).map((item, at) => [item.id, this.row(item, first + at, before.get(item.id))]));
    for (const [id, row] of before) if (this.drawn.get(id) !== row) row.remove();
    let next = this.room.firstChild;
    for (const row of this.drawn.values()) {
      if (row === next) next = next.nextSibling;
      else this.room.insertBefore(row, next);
    }
    if (hadFocus && !this.room.contains(document.activeElement)) (this.room.querySelector("[aria-current]") ?? this.place).focus({ preventScroll: true });
  }

  /** The element of an item: the one that was drawn `before`, or a new one. */
  row(item, index, before) {
    const row = before ?? this.begin(item);
    row.className = `row ${item.className ?? ""}`;
    row.title = item.title ?? "";
    row.style.top = `${index * this.height}px`;
    row.replaceChildren(...item.cells());
    if (item.id !== null && item.id === this.chosen) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
    return row;
  }

  begin({ id }) {
    const row = element(id === null ? "p" : "button");
    row.style.height = `${this.height}px`;
    if (id === null) return row;
    row.type = "button";
    // The list is one stop on the way by Tab; j and k choose in it.
    row.tabIndex = -1;
    row.dataset.id = id;
    row.addEventListener("click", () => this.choose(id));
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
