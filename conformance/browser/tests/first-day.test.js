// As a new user meets it: a project from nothing, the loop of the command around it, an edit that loops, and why.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Scaffold, openBrowser, openPage, picture } from "./support.js";

// The first build compiles everything that the project depends on.
const FIRST_BUILD = 60 * 60_000;

let project, dev, browser, shown, page;

before(async () => {
  project = new Scaffold();
  project.kubewright("init --domain example.com --repo github.com/example/shop");
  project.kubewright("create api --group web --version v1 --kind Website");
  [dev, browser] = await Promise.all([project.dev(), openBrowser()]);
  shown = await openPage(browser, dev.link);
  page = shown.page;
});

after(async () => {
  await browser?.close();
  await dev?.stop();
  project?.remove();
});

test("a project from nothing runs, and says within a minute why an edit of its reconciler loops", async () => {
  await page.goto(`${dev.link.split("#")[0]}#objects`);
  await page.locator("#list .row", { hasText: "Website default/website-sample" }).filter({ hasText: "ready" }).waitFor({ timeout: FIRST_BUILD });
  assert.equal(await page.locator("#to-warnings").textContent(), "Warnings");
  // The mistake that everybody makes once.
  const saved = Date.now();
  project.edit("src/controllers/website.rs", '.message("all is as it should be")', '.message(format!("looked at {}", self.client.clock().now()))');
  await page.locator("#to-warnings.bad").waitFor({ timeout: FIRST_BUILD });
  await page.keyboard.press("w");
  await page.locator("#list .row", { hasText: "website default/website-sample wakes itself again and again" }).click();
  await page.locator("#detail", { hasText: "write only if something differs, and nothing that is new every time, such as the time" }).waitFor();
  const took = Date.now() - saved;
  await picture(page, "first-day");
  // From there to a reconcile of the loop, and the field that is new every time.
  await page.locator('#detail a[href^="#reconciles/"]').click();
  await page.locator("#detail section", { hasText: "What led here" }).getByText(/A loop: website default\/website-sample came \d+ times/).waitFor();
  await page.locator("#detail section", { hasText: "What it did" }).locator("code", { hasText: /^status\.conditions\[0\]\.message: .*looked at .* → .*looked at / }).first().waitFor();
  await picture(page, "first-day-loop");
  // The compiler's time is the machine's.
  const [, minutes = 0, seconds] = (await page.locator("#state").textContent()).match(/cargo (?:(\d+)m)?([\d.]+)s/);
  const compiled = (Number(minutes) * 60 + Number(seconds)) * 1000;
  console.log(`from the save to the reason: ${took} ms, of which cargo had ${compiled} ms`);
  assert.ok(took - compiled < 60_000, `it took ${took} ms, of which cargo had ${compiled} ms`);
  shown.check();
});
