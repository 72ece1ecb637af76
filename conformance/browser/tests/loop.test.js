// As a new user meets it: an edit of the reconciler that loops, and why; an exploration's report.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Project, openBrowser, openPage, picture, violations } from "./support.js";

let project, dev, browser, shown, page;

before(async () => {
  project = new Project();
  project.operator("shop_operator");
  project.explore();
  [dev, browser] = await Promise.all([project.dev(), openBrowser()]);
  shown = await openPage(browser, dev.link);
  page = shown.page;
});

after(async () => {
  await browser?.close();
  await dev?.stop();
  project?.remove();
});

test("the report of an exploration is a grid, and its plan is played step by step", async () => {
  await page.locator("#to-explore").waitFor();
  await page.keyboard.press("x");
  await page.locator("#list .row", { hasText: "found" }).first().click();
  await page.locator("#detail table.grid button.cell").first().waitFor();
  const different = page.locator("#detail button.cell.bad").first();
  await different.click();
  await page.locator("#detail b.bad", { hasText: "different" }).waitFor();
  assert.match(await different.getAttribute("aria-label"), /^different: .* after step create$/);
  await picture(page, "explore");
  assert.deepEqual(await violations(page), []);
  // What the plan did, event by event, is a timeline with one that is looked at.
  await page.getByRole("link", { name: "Play step by step" }).first().click();
  const now = page.locator("#list .row[aria-current]");
  await now.filter({ hasText: "step create" }).waitFor();
  await page.locator("#detail", { hasText: /1 of \d+/ }).waitFor();
  assert.ok(await page.locator("#list .row.later").count() > 3);
  await page.keyboard.press("]");
  // The step made the object, which is shown line by line.
  await now.filter({ hasText: "the step: apps.broken.example.com/app created" }).waitFor();
  await page.locator("#detail .difference .added", { hasText: "text: hello" }).waitFor();
  await page.keyboard.press("]");
  await now.filter({ hasText: "reconcile" }).waitFor();
  await page.keyboard.press("[");
  await now.filter({ hasText: "the step:" }).waitFor();
  // A write of the operator says in which reconcile it was, and what that had read.
  await page.locator("#list .row", { hasText: "create configmaps/app" }).first().click();
  await page.locator("#detail section", { hasText: "It had read:" }).locator("li", { hasText: "App app: revision" }).waitFor();
  await page.locator("#detail .difference .added", { hasText: "kind: ConfigMap" }).waitFor();
  await page.locator("#detail section", { hasText: "The cluster so far" }).locator("li", { hasText: "configmaps/app" }).waitFor();
  // Where the plan struck, and what came of it; the address leads there.
  await page.locator("#list .row", { hasText: "⚡" }).first().click();
  await page.locator("#detail section", { hasText: "What came of it" }).locator(".bad", { hasText: "different configmaps/app" }).waitFor();
  await picture(page, "play");
  assert.deepEqual(await violations(page), []);
  const address = await page.evaluate(() => location.hash);
  assert.match(address, /^#explore\/[^/]+\/\d+\/\d+$/);
  const linked = await shown.context.newPage();
  await linked.goto(`${dev.link.split("#")[0]}${address}`);
  await linked.locator("#list .row[aria-current]", { hasText: "⚡" }).waitFor();
  await linked.close();
  // Back to the report.
  await page.keyboard.press("Escape");
  await page.locator("#detail table.grid").first().waitFor();
  shown.check();
});

test("an edit that loops is on the page within a minute, with the reason", async () => {
  const saved = Date.now();
  project.operator("looping_operator");
  await page.locator("#to-warnings.bad").waitFor();
  await page.keyboard.press("w");
  const what = "blue default/sample and red default/sample wake each other again and again";
  await page.locator("#list .row", { hasText: what }).click();
  await page.locator("#detail", { hasText: "let each field have one owner" }).waitFor();
  assert.ok(Date.now() - saved < 60_000, `it took ${Date.now() - saved} ms`);
  await picture(page, "warning");
  // From the warning to a reconcile, which is part of a loop.
  await page.locator('#detail a[href^="#reconciles/"]').click();
  await page.locator("#detail section", { hasText: "What led here" }).getByText(/A loop: (red|blue) default\/sample came \d+ times/).waitFor();
  await picture(page, "loop");
  assert.deepEqual(await violations(page), []);
  // To one that wrote, and what it changed back.
  const written = page.locator("#detail section", { hasText: "What it did" }).locator("code", { hasText: /^data\.colour: .*→/ });
  for (let hop = 0; hop < 4 && await written.count() === 0; hop++) {
    const title = await page.locator("#detail h2").textContent();
    await page.locator("#detail section", { hasText: "Woken by" }).locator('a[href^="#reconciles/"]').first().click();
    await page.waitForFunction((title) => document.querySelector("#detail h2").textContent !== title && document.querySelector("#detail h3"), title);
    await page.locator("#detail h3", { hasText: "What it did" }).waitFor();
  }
  await written.first().waitFor();
  shown.check();
});
