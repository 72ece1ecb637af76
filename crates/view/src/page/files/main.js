// The page: exchanges the link's token for a cookie, follows the news, and draws the view that is chosen.

import { element } from "/dom.js";
import { List } from "/list.js";
import { Objects } from "/objects.js";
import { Operator } from "/operator.js";
import { Reconciles } from "/reconciles.js";
import { Requests } from "/requests.js";
import { Session } from "/session.js";
import { Warnings } from "/warnings.js";
import { Webhooks } from "/webhooks.js";

const at = (id) => document.getElementById(id);
const session = new Session();
const views = {
  reconciles: new Reconciles(), objects: new Objects(), operator: new Operator(), webhooks: new Webhooks(), requests: new Requests(),
  warnings: new Warnings(),
};
const chosen = {};
const list = new List(at("list"), choose);
let view = "reconciles";
let isDrawing = false;

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
  list.show(views[view].rows(filter), chosen[view] ?? null);
  at("detail").replaceChildren(...views[view].detail(chosen[view], redraw));
  at("trouble").replaceChildren(...session.trouble());
  at("state").replaceChildren(element("span", session.standing, session.words()));
  for (const name of Object.keys(views)) {
    if (name === view) at(`to-${name}`).setAttribute("aria-current", "page");
    else at(`to-${name}`).removeAttribute("aria-current");
  }
  const warnings = views.warnings.current;
  at("to-warnings").textContent = warnings ? `Warnings (${warnings})` : "Warnings";
  at("to-warnings").classList.toggle("bad", warnings > 0);
}

function choose(id) {
  chosen[view] = id;
  history.replaceState(null, "", `#${view}/${encodeURIComponent(id)}`);
  draw();
  list.reveal(id);
}

function move(by) {
  const next = list.next(by);
  if (next !== null) choose(next);
}

/** Where the fragment leads: `#objects`, `#reconciles/12`. */
function follow() {
  const [name, id] = location.hash.slice(1).split("/");
  if (!(name in views)) return;
  view = name;
  if (id) chosen[view] = decodeURIComponent(id);
  draw();
  list.reveal(chosen[view]);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === at("filter")) {
    if (event.key === "Escape") at("filter").value = "";
    if (event.key === "Escape" || event.key === "Enter") {
      at("list").focus();
      draw();
      if (event.key === "Enter") move(0);
    }
    return;
  }
  const actions = {
    "/": () => at("filter").select(),
    j: () => move(1),
    k: () => move(-1),
    r: () => { location.hash = "#reconciles"; },
    o: () => { location.hash = "#objects"; },
    p: () => { location.hash = "#operator"; },
    h: () => { location.hash = "#webhooks"; },
    a: () => { location.hash = "#requests"; },
    w: () => { location.hash = "#warnings"; },
  };
  if (!(event.key in actions)) return;
  event.preventDefault();
  actions[event.key]();
});
at("filter").addEventListener("input", redraw);
window.addEventListener("hashchange", follow);

async function login() {
  const token = location.hash.startsWith("#token=") ? location.hash.slice("#token=".length) : null;
  if (token === null) return true;
  // The token stays neither in the address nor in the history.
  history.replaceState(null, "", "#reconciles");
  const answer = await fetch("/login", { method: "POST", body: token });
  return answer.ok;
}

function listen() {
  const news = new EventSource("/api/news");
  news.addEventListener("message", (event) => {
    const told = JSON.parse(event.data);
    if (told.session) session.take(told.session);
    if (told.objects) views.objects.take(told.objects);
    if (told.unreadable) views.objects.unreadable = told.unreadable;
    if (told.reconciles) views.reconciles.take(told.reconciles);
    if (told.reconciles) views.webhooks.take(told.reconciles);
    if (told.operator) views.operator.take(told.operator);
    if (told.requests) views.requests.take(told.requests);
    if (told.warnings) views.warnings.take(told.warnings);
    redraw();
  });
  news.addEventListener("error", () => {
    if (news.readyState === EventSource.CLOSED) stranger();
    else at("state").replaceChildren(element("span", "bad", "kubewright dev does not answer"));
  });
}

function stranger() {
  list.say("Open the link that kubewright dev printed: it has a token.", "bad");
}

if (await login()) {
  follow();
  draw();
  listen();
} else {
  stranger();
}
