// The page: exchanges the link's token for a cookie, follows both streams, and draws the view that is chosen.

import { element } from "/dom.js";
import { Objects } from "/objects.js";
import { Reconciles } from "/reconciles.js";

const at = (id) => document.getElementById(id);
const reconciles = new Reconciles();
const objects = new Objects();
const views = { reconciles, objects };
const chosen = { reconciles: null, objects: null };
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
  const hadFocus = at("list").contains(document.activeElement);
  at("list").replaceChildren(...views[view].rows(filter, chosen[view], choose));
  at("detail").replaceChildren(...views[view].detail(chosen[view], redraw));
  if (hadFocus) (at("list").querySelector("[aria-current]") ?? at("list")).focus();
  for (const name of Object.keys(views)) {
    if (name === view) at(`to-${name}`).setAttribute("aria-current", "page");
    else at(`to-${name}`).removeAttribute("aria-current");
  }
}

function choose(id) {
  chosen[view] = id;
  history.replaceState(null, "", `#${view}/${encodeURIComponent(id)}`);
  draw();
  at("list").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}

function move(by) {
  const rows = [...at("list").querySelectorAll("button")];
  const now = rows.findIndex((row) => row.dataset.id === chosen[view]);
  const next = rows[now < 0 ? 0 : now + by];
  if (next) choose(next.dataset.id);
}

/** Where the fragment leads: `#objects`, `#reconciles/12`. */
function follow() {
  const [name, id] = location.hash.slice(1).split("/");
  if (!(name in views)) return;
  view = name;
  if (id) chosen[view] = decodeURIComponent(id);
  draw();
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
  };
  if (!(event.key in actions)) return;
  event.preventDefault();
  actions[event.key]();
});
at("filter").addEventListener("input", redraw);
window.addEventListener("hashchange", follow);

function tell(text) {
  at("state").textContent = text;
}

async function login() {
  const token = location.hash.startsWith("#token=") ? location.hash.slice("#token=".length) : null;
  if (token === null) return true;
  // The token stays neither in the address nor in the history.
  history.replaceState(null, "", "#reconciles");
  const answer = await fetch("/login", { method: "POST", body: token });
  return answer.ok;
}

function listen() {
  const trace = new EventSource("/api/trace");
  trace.addEventListener("begin", (event) => {
    reconciles.begin(JSON.parse(event.data));
    tell("");
    redraw();
  });
  trace.addEventListener("missed", (event) => {
    reconciles.missed += JSON.parse(event.data).count;
    tell(`${reconciles.missed} records were missed`);
  });
  trace.addEventListener("waiting", () => tell("waiting for the operator"));
  trace.addEventListener("message", (event) => {
    if (reconciles.take(JSON.parse(event.data))) redraw();
  });
  trace.addEventListener("error", () => {
    if (trace.readyState === EventSource.CLOSED) stranger();
  });
  const state = new EventSource("/api/objects");
  state.addEventListener("objects", (event) => {
    objects.take(JSON.parse(event.data));
    redraw();
  });
  state.addEventListener("unavailable", () => {
    objects.isAvailable = false;
    state.close();
    redraw();
  });
}

function stranger() {
  tell("");
  at("list").replaceChildren(element("p", "row bad", "Open the link that kubewright dev printed: it has a token."));
}

if (await login()) {
  follow();
  draw();
  listen();
} else {
  stranger();
}
