// The page: exchanges the link's token for a cookie, follows the news, and draws the view that is chosen.

import { ask, element } from "/dom.js";
import { Explore } from "/explore.js";
import { List } from "/list.js";
import { Objects } from "/objects.js";
import { Operator } from "/operator.js";
import { Reconciles } from "/reconciles.js";
import { Requests } from "/requests.js";
import { Session } from "/session.js";
import { Story } from "/story.js";
import { Travel } from "/travel.js";
import { Warnings } from "/warnings.js";
import { Webhooks } from "/webhooks.js";

const at = (id) => document.getElementById(id);
/** What this is a page of, and what can be done from it. */
const about = { title: "kubewright dev", writes: false, forks: false, explores: false };
const session = new Session();
const story = new Story(at("story"));
const views = {
  reconciles: new Reconciles(), objects: new Objects(about), operator: new Operator(), webhooks: new Webhooks(), requests: new Requests(),
  warnings: new Warnings(), explore: new Explore(),
};
const chosen = {};
const list = new List(at("list"), choose);
const travel = new Travel(at("travel"), () => {
  views.objects.travel(travel.revision, travel.question === null ? null : travel.told);
  address();
  draw();
});
let view = "reconciles";
let isDrawing = false;
let shownDetail = null;
/** The row that a link leads to, until it was there to be scrolled to. */
let sought = null;

/** Draws soon: however much happens, once for each frame. */
function redraw() {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    draw();
  });
}

function draw() {
  const filter = at("filter").value.trim().toLowerCase();
  list.show(views[view].rows(filter, chosen[view]), chosen[view] ?? null);
  const detail = views[view].detail(chosen[view], redraw);
  // The same elements again: nothing that is read or typed is disturbed.
  if (detail !== shownDetail) at("detail").replaceChildren(...detail);
  shownDetail = detail;
  at("trouble").replaceChildren(...session.trouble());
  at("state").replaceChildren(element("span", session.standing, session.words()));
  at("travel").hidden = view !== "objects";
  at("new").hidden = view !== "objects" || !about.writes;
  for (const name of Object.keys(views)) {
    if (name === view) at(`to-${name}`).setAttribute("aria-current", "page");
    else at(`to-${name}`).removeAttribute("aria-current");
  }
  const warnings = views.warnings.current;
  at("to-warnings").textContent = warnings ? `Warnings (${warnings})` : "Warnings";
  at("to-warnings").classList.toggle("bad", warnings > 0);
  // Last: what is above the list says how high it is.
  const isComing = view === "objects" && travel.isLoading;
  if (sought !== null && !isComing && list.reveal(sought)) sought = null;
}

function choose(id) {
  chosen[view] = id;
  sought = null;
  address();
  draw();
  list.reveal(id);
}

/** Writes what is looked at into the address, so that a link leads back. */
function address() {
  // What is played of a report is a path of its own.
  const parts = view === "explore" ? (chosen[view] ?? "").split("/") : [chosen[view] ?? ""];
  const id = chosen[view] ? `/${parts.map(encodeURIComponent).join("/")}` : "";
  const past = view === "objects" && travel.revision !== null ? `/at/${travel.revision}` : "";
  const since = view === "objects" && travel.since !== null ? `/since/${travel.since}` : "";
  const moment = past || since ? `${id ? "" : "/"}${past}${since}` : "";
  const typed = at("filter").value.trim();
  const here = `#${view}${id}${moment}${typed ? `?${new URLSearchParams({ q: typed })}` : ""}`;
  // Browsers count how often it is written.
  if (here !== location.hash) history.replaceState(null, "", here);
}

function move(by) {
  const next = list.next(by);
  if (next !== null) choose(next);
}

/** Chooses the first row that matches what was typed, and not one that is there because it owns one. */
function jump() {
  const first = list.items.find((item) => item.isMatch ?? true);
  if (first?.id) choose(first.id);
}

/** Where the fragment leads: `#objects`, `#reconciles/12`, `#objects/UID/at/120`, `#objects/UID/at/120/since/100`, `#explore/REPORT/FINDING/EVENT`,
 * `#reconciles?q=what+was+typed`. */
function follow() {
  const [path, query] = location.hash.slice(1).split("?");
  const [name, id, ...words] = path.split("/");
  if (!(name in views)) return;
  const typed = new URLSearchParams(query).get("q");
  const isOpened = view !== name || (name === "explore" && !id);
  // What was typed for one view would hide what a link leads to in another.
  if (view !== name || typed !== null) at("filter").value = typed ?? "";
  view = name;
  if (id) chosen[view] = (view === "explore" ? [id, ...words] : [id]).map(decodeURIComponent).join("/");
  if (isOpened) views[view].open?.(redraw);
  sought = chosen[view] ?? null;
  if (view === "objects") travel.look(revisionAfter("at", words), revisionAfter("since", words));
  draw();
}

/** The revision that stands after a word of an address. */
function revisionAfter(word, words) {
  const at = words.indexOf(word);
  return at >= 0 && /^\d+$/.test(words[at + 1]) ? Number(words[at + 1]) : null;
}

/** The next or previous change of the chosen object, or of all. */
function change(by) {
  if (view === "explore") return move(by);
  if (view !== "objects") return move(-by);
  const moments = views.objects.shown.loaded?.uid === chosen.objects ? views.objects.shown.loaded?.whole?.moments : null;
  if (!moments?.length || travel.since !== null) return travel.step(by);
  const now = travel.revision ?? Infinity;
  const next = by < 0 ? moments.findLast(({ revision }) => revision < Math.min(now, moments.at(-1).revision + (now === Infinity ? 0 : 1)))
    : moments.find(({ revision }) => revision > now);
  return travel.go(next?.revision ?? (by > 0 ? null : travel.revision));
}

/** Closes what is open, the innermost first. */
function escape() {
  if (views[view].escape?.(redraw, chosen[view], choose)) return;
  if (view === "objects" && travel.since !== null) travel.look(travel.revision, null);
  else if (view === "objects" && travel.revision !== null) travel.go(null);
  else if (at("filter").value) {
    at("filter").value = "";
    address();
    redraw();
  } else at("list").focus();
}

/** Presses the button of something that can be done with what is shown. */
function act(name) {
  at("detail").querySelector(`button[data-act="${name}"]`)?.click();
}

/** Opens an editor for a new object, in the present. */
function create() {
  if (at("new").hidden) return;
  travel.look(null, null);
  views.objects.create(chosen.objects, choose, redraw);
}

/** Goes to a view at once, and not when the browser tells of the address: the next key may come before that. */
function to(name) {
  location.hash = name;
  follow();
}

const KEYS = {
  "/": () => at("filter").select(),
  j: () => move(1),
  k: () => move(-1),
  "[": () => change(-1),
  "]": () => change(1),
  e: () => act("edit"),
  l: () => act("log"),
  n: create,
  c: () => { if (view === "objects") travel.toggle(); },
  r: () => to("reconciles"),
  o: () => to("objects"),
  p: () => to("operator"),
  h: () => to("webhooks"),
  a: () => to("requests"),
  w: () => to("warnings"),
  s: () => story.focus(),
  x: () => { if (about.explores) to("explore"); },
  Escape: escape,
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === at("filter")) {
    if (event.key === "Escape") {
      at("filter").value = "";
      address();
    }
    if (event.key === "Escape" || event.key === "Enter") {
      at("list").focus();
      draw();
      if (event.key === "Enter") jump();
    }
    return;
  }
  if (event.target.closest("input, textarea, select") && event.key !== "Escape") return;
  if (!(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});
at("filter").addEventListener("input", () => {
  address();
  redraw();
});
at("new").addEventListener("click", create);
window.addEventListener("hashchange", follow);

async function login() {
  const token = location.hash.startsWith("#token=") ? location.hash.slice("#token=".length) : null;
  if (token === null) return true;
  // The token stays neither in the address nor in the history.
  history.replaceState(null, "", "#reconciles");
  const answer = await fetch("/login", { method: "POST", body: token });
  return answer.ok;
}

/** What this is, and what can be done. */
async function introduce() {
  Object.assign(about, await ask("/api/about", {}));
  document.title = about.title;
  at("title").textContent = about.title;
  for (const id of ["to-explore", "explore-key"]) at(id).hidden = !about.explores;
  travel.forks = about.forks;
  travel.draw();
}

/** News that only one view shows: another is not drawn anew for them. */
const SHOWN_BY = { operator: "operator", requests: "requests", said: "objects" };

function listen() {
  const news = new EventSource("/api/news");
  news.addEventListener("message", (event) => {
    const told = JSON.parse(event.data);
    if (told.session) session.take(told.session);
    if (told.objects) views.objects.take(told.objects);
    if (told.objects) travel.take(told.objects);
    if (told.unreadable) views.objects.unreadable = told.unreadable;
    if (told.reconciles) views.reconciles.take(told.reconciles);
    if (told.reconciles) views.webhooks.take(told.reconciles);
    if (told.reconciles) views.objects.shown.reconciled();
    if (told.said) views.objects.shown.said(told.said, redraw);
    if (told.operator) views.operator.take(told.operator);
    if (told.requests) views.requests.take(told.requests);
    if (told.warnings) views.warnings.take(told.warnings);
    if (told.story) story.take(told.story);
    if (told.story) at("story-key").hidden = false;
    if (Object.keys(told).some((part) => (SHOWN_BY[part] ?? view) === view)) redraw();
  });
  news.addEventListener("error", () => {
    if (news.readyState === EventSource.CLOSED) stranger();
    else at("state").replaceChildren(element("span", "bad", `${about.title} does not answer`));
  });
}

function stranger() {
  list.say("Open the link that kubewright printed: it has a token.", "bad");
}

if (await login()) {
  await introduce();
  listen();
  follow();
  draw();
} else {
  stranger();
}
