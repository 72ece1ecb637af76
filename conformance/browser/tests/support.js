// What the tests share: `kubewright dev` with the example operator, and a browser that looks at its page.

import { spawn, spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const checkout = join(here, "../../..");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const pictures = process.env.KUBEWRIGHT_SCREENSHOTS;
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
  "--disable-sync"];
/** Nothing takes longer, on however busy a machine. */
export const PATIENCE = Number(process.env.KUBEWRIGHT_PATIENCE ?? 120_000);

/** Starts `kubewright dev` on the example MarkdownView, and waits for its link. */
export async function startDev() {
  // While one works on the tests: one that runs already.
  if (process.env.KUBEWRIGHT_LINK) return { link: process.env.KUBEWRIGHT_LINK, said: () => "", stop: async () => {} };
  return start(["dev"], { cwd: join(checkout, "examples/markdown-view") });
}

const built = join(checkout, "target/debug");

const program = () => process.env.KUBEWRIGHT ?? join(built, "kubewright");

/** Starts the command, and waits for the link of its page. */
export async function start(words, { cwd, env = process.env } = {}) {
  const child = spawn(program(), words, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  const found = new Promise((resolve, reject) => {
    const hear = (piece) => {
      said += piece;
      const link = said.match(/(http:\/\/[^\s"]+#token=[0-9a-f]{64})/);
      if (link) resolve(link[1]);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", (code) => reject(new Error(`kubewright ${words.join(" ")} ended with ${code}:\n${said}`)));
  });
  const link = await found;
  return { link, said: () => said, stop: () => new Promise((resolve) => { child.on("exit", resolve); child.kill("SIGINT"); }) };
}

/** A cluster whose Pods are processes of this machine, with the image `shell:dev`. */
export async function startProcessCluster(folder) {
  const kubeconfig = join(folder, "kubeconfig");
  const child = spawn(program(), ["apiserver", "--secure-port=0", "--controllers=all", "--run-images", "--kubeconfig-out", kubeconfig], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => { child.on("exit", resolve); });
  const isUp = new Promise((resolve) => { child.stdout.on("data", (piece) => { if (String(piece).includes("KUBECONFIG=")) resolve(true); }); });
  if (await Promise.race([isUp, ended]) !== true) throw new Error("kubewright apiserver ended");
  const loaded = spawnSync(program(), ["image", "load", "shell:dev", "--binary", "/bin/sh", "--kubeconfig", kubeconfig], { encoding: "utf8" });
  if (loaded.status !== 0) throw new Error(loaded.stderr);
  return { kubeconfig, stop: () => { child.kill("SIGINT"); return ended; } };
}

/** The sources of a project as `init` and `create api` write them, built beside the scaffolds of other tests. */
export class Scaffold {
  constructor() {
    this.root = mkdtempSync(join(tmpdir(), "kubewright-browser-"));
    this.folder = join(this.root, "shop");
    mkdirSync(this.folder);
    // With the versions of this workspace, so that nothing is downloaded and little is compiled.
    writeFileSync(join(this.root, "Cargo.toml"), '[workspace]\nresolver = "3"\nmembers = ["shop"]\n');
    copyFileSync(join(checkout, "Cargo.lock"), join(this.root, "Cargo.lock"));
    this.env = { ...process.env, CARGO_TARGET_DIR: join(checkout, "target/scaffolds/target"), CARGO_INCREMENTAL: "0", CARGO_PROFILE_DEV_DEBUG: "false",
      RUSTFLAGS: "-Dwarnings", CARGO_NET_OFFLINE: "true" };
    delete this.env.KUBECONFIG;
  }

  /** Runs the command in the project's folder. */
  kubewright(words) {
    const ran = spawnSync(program(), words.split(" "), { cwd: this.folder, env: this.env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    if (ran.status !== 0) throw new Error(`${words}: ${ran.stdout}${ran.stderr}`);
  }

  /** What somebody does in an editor. */
  edit(name, from, to) {
    const path = join(this.folder, name);
    const text = readFileSync(path, "utf8");
    if (!text.includes(from)) throw new Error(`${name} has no ${from}:\n${text}`);
    writeFileSync(path, text.replace(from, to));
  }

  dev() {
    return start(["dev"], { cwd: this.folder, env: this.env });
  }

  remove() {
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** A project whose operator is a program that is built already, and whose cargo only takes it: a save is there in no time. */
export class Project {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "kubewright-browser-"));
    this.write("PROJECT", 'domain: example.com\nlayout:\n- kubewright.dev/v1\nprojectName: shop\nversion: "3"\n');
    this.write("Cargo.toml", '[package]\nname = "shop"\n');
    this.write("config/samples/v1_configmap.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: sample\n");
    this.write("bin/cargo", `#!/bin/sh
mkdir -p target
cmp -s src/operator.sh target/shop || cp src/operator.sh target/shop
printf '{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"shop"},"manifest_path":"%s/Cargo.toml","executable":"%s/target/shop"}\\n' "$PWD" "$PWD"
`);
  }

  /** The operator is this example of the command's package from now on. */
  operator(name) {
    this.write("src/operator.sh", `#!/bin/sh\nexec '${join(built, "examples", name)}' "$@"\n`);
  }

  /** Starts `kubewright dev`, with a cluster of its own or that of a kubeconfig. */
  async dev(kubeconfig = null) {
    const env = { ...process.env, CARGO: join(this.folder, "bin/cargo"), PATH: `${join(this.folder, "bin")}:${process.env.PATH}` };
    delete env.KUBECONFIG;
    if (kubeconfig === null) return start(["dev"], { cwd: this.folder, env });
    return start(["dev", "--context=kubewright", "--allow-writes"], { cwd: this.folder, env: { ...env, KUBECONFIG: kubeconfig } });
  }

  /** A real exploration, of an operator with a mistake: its report is where explorations leave theirs. */
  explore() {
    const folder = join(this.folder, "target/explore");
    mkdirSync(folder, { recursive: true });
    // What is found fails the test: the report is what counts.
    // Of the whole workspace, as the command was built: of a package alone everything would be compiled anew.
    const ran = spawnSync("cargo", ["test", "--locked", "--workspace", "--test", "edits"],
      { cwd: checkout, env: { ...process.env, KUBEWRIGHT_EXPLORE_REPORT: folder }, encoding: "utf8" });
    if (readdirSync(folder).length === 0) throw new Error(ran.stdout + ran.stderr);
  }

  write(name, text) {
    const path = join(this.folder, name);
    mkdirSync(dirname(path), { recursive: true });
    // In one step, so that nobody who looks sees half of it.
    writeFileSync(`${path}.half`, text);
    if (name.includes("bin/") || name.endsWith(".sh")) chmodSync(`${path}.half`, 0o755);
    renameSync(`${path}.half`, path);
  }

  remove() {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export async function openBrowser() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: FLAGS });
}

/** A page of a link. What a script complains of, a policy refuses or a dialog says fails the test at `check`. */
export async function openPage(browser, link, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  // Refusals of the API server are answers, which the browser logs, too.
  page.on("console", (message) => { if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) complaints.push(message.text()); });
  page.on("dialog", (dialog) => { complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => { if (!request.url().startsWith(new URL(link).origin)) complaints.push(`asks ${request.url()}`); });
  if (process.env.KUBEWRIGHT_PAGE_FILES) {
    // While one works on the page: its files as they are, without a build.
    await context.route(/\.(js|css)$|\/$/, (route) => {
      const name = new URL(route.request().url()).pathname.slice(1) || "index.html";
      const type = { js: "text/javascript", css: "text/css", html: "text/html" }[name.split(".").at(-1)];
      route.fulfill({ body: readFileSync(join(process.env.KUBEWRIGHT_PAGE_FILES, name)), contentType: type });
    });
  }
  await page.goto(link);
  return { page, context, check: () => { if (complaints.length) throw new Error(complaints.join("\n")); } };
}

/** Sends to an address of the page, as the page itself does. */
export async function send(page, path, body) {
  return page.evaluate(async ([path, body]) => {
    const answer = await fetch(path, { method: "POST", body: JSON.stringify(body) });
    return { ok: answer.ok, body: await answer.json() };
  }, [path, body]);
}

/** What axe finds wrong, in words. */
export async function violations(page) {
  // In the page's own world no policy hinders it.
  const client = await page.context().newCDPSession(page);
  const run = `${axe}; axe.run(document, { resultTypes: ["violations"] }).then((found) => found.violations.flatMap((one) =>
    one.nodes.map((node) => one.id + ": " + one.help + ": " + node.html.slice(0, 200) + " " + (node.any[0]?.message ?? ""))))`;
  const { result, exceptionDetails } = await client.send("Runtime.evaluate", { expression: run, awaitPromise: true, returnByValue: true, allowUnsafeEvalBlockedByCSP: true });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
}

export async function picture(page, name) {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}
