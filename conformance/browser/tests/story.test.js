// `kubewright demo --serve`: the same page, with the story beside it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, openPage, picture, send, start, violations } from "./support.js";

let demo, browser, shown, page;

before(async () => {
  [demo, browser] = await Promise.all([start(["demo", "--serve", "--fast", "--json"]), openBrowser()]);
  shown = await openPage(browser, demo.link);
  page = shown.page;
});

after(async () => {
  await browser?.close();
  await demo?.stop();
});

test("the story is told beside the page, and leads to moments and objects", async () => {
  const story = page.locator("#story");
  // The last chapter is open, all others can be.
  await story.locator("details[open] summary", { hasText: "Stay" }).waitFor();
  await page.waitForFunction(() => document.querySelectorAll("#story details").length === 9);
  const chapter = (title) => story.locator("details", { has: page.locator("summary", { hasText: title }) });
  await page.keyboard.press("s");
  await page.waitForFunction(() => document.activeElement.matches("#story summary"));
  await picture(page, "story");
  assert.deepEqual(await violations(page), []);

  const scale = chapter("Scale");
  await scale.locator("summary").focus();
  await page.keyboard.press("Enter");
  await scale.locator("code", { hasText: "$ kubectl" }).waitFor();
  // Before that chapter there were three.
  await scale.locator('a[href*="/at/"]').first().click();
  await page.locator("#travel.past").waitFor();
  await page.locator("#filter").fill("Deployment default/viewer-markdownview-sample");
  await page.locator("#list .row", { hasText: "viewer-markdownview-sample" }).first().waitFor();
  // And the object as that chapter made it.
  await scale.locator("a", { hasText: "Deployment viewer-markdownview-sample changed: replicas 3 → 5" }).click();
  await page.locator("#detail .line", { hasText: "replicas: 5" }).first().waitFor();
  await page.keyboard.press("Escape");
  shown.check();
});

test("the cluster of the story is forked, and its fork goes its own way", async () => {
  await page.goto(`${demo.link.split("#")[0]}#objects`);
  await page.getByRole("button", { name: "Fork from here" }).click();
  const link = await page.locator("#travel a").getAttribute("href");
  const fork = await openPage(browser, link);
  await fork.page.locator("h1", { hasText: "fork of revision" }).waitFor();
  const { ok, body } = await send(fork.page, "/api/apply", { edited: JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "only-there", namespace: "default" } }) });
  assert.ok(ok, body.message);
  await fork.page.goto(`${link.split("#")[0]}#objects/${body.uid}`);
  await fork.page.locator("#list .row", { hasText: "only-there" }).waitFor();
  assert.equal(await page.evaluate(async (uid) => (await fetch(`/api/object?uid=${uid}`)).status, body.uid), 404);
  fork.check();
  await fork.context.close();
  shown.check();
});

test("in a narrow window the story is below", async () => {
  const narrow = await openPage(browser, demo.link, { viewport: { width: 420, height: 800 }, colorScheme: "dark" });
  await narrow.page.locator("#story details").first().waitFor();
  const place = await narrow.page.evaluate(() => [document.querySelector("#story"), document.querySelector("#detail")].map((one) => one.getBoundingClientRect()).map(({ top, width, height }) => ({ top, width, height })));
  assert.ok(place[0].top >= place[1].top + place[1].height - 1 && place[0].height > 60, JSON.stringify(place));
  assert.ok(await narrow.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it scrolls sideways");
  assert.deepEqual(await violations(narrow.page), []);
  await picture(narrow.page, "story-narrow");
  narrow.check();
  await narrow.context.close();
});
