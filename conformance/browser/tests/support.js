// What the tests share: `kubewright dev` with the example operator, and a browser that looks at its page.

import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
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
  const program = process.env.KUBEWRIGHT ?? join(checkout, "target/debug/kubewright");
  const child = spawn(program, ["dev"], { cwd: join(checkout, "examples/markdown-view"), stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  const found = new Promise((resolve, reject) => {
    const hear = (piece) => {
      said += piece;
      const link = said.match(/See what happens: (http:\S+)/);
      if (link) resolve(link[1]);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", (code) => reject(new Error(`kubewright dev ended with ${code}:\n${said}`)));
  });
  const link = await found;
  return { link, said: () => said, stop: () => new Promise((resolve) => { child.on("exit", resolve); child.kill("SIGINT"); }) };
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
