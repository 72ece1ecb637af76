// The log of a Pod that is a process, in the page of `kubewright dev` with a cluster that was there before.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PATIENCE, Project, openBrowser, openPage, picture, send, startProcessCluster, violations } from "./support.js";

let project, cluster, dev, browser, shown, page;

before(async () => {
  project = new Project();
  project.operator("shop_operator");
  cluster = await startProcessCluster(project.folder);
  [dev, browser] = await Promise.all([project.dev(cluster.kubeconfig), openBrowser()]);
  shown = await openPage(browser, dev.link);
  page = shown.page;
});

after(async () => {
  await browser?.close();
  await dev?.stop();
  await cluster?.stop();
  project?.remove();
});

test("what a process writes is in the log of its container, as it is written", async () => {
  const script = "n=0; while :; do n=$((n+1)); echo line $n; sleep 0.1; done";
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "talker", namespace: "default" },
    spec: { containers: [{ name: "web", image: "shell:dev", command: ["/bin/sh", "-c", script] }] } };
  // Pods are refused before there is an account for them.
  let made;
  for (const end = Date.now() + PATIENCE; !made?.ok && Date.now() < end;) made = await send(page, "/api/apply", { edited: JSON.stringify(pod) });
  assert.ok(made.ok, made.body.message);
  await page.goto(`${dev.link.split("#")[0]}#objects/${made.body.uid}`);
  await page.locator("#list .row", { hasText: "Pod default/talker" }).filter({ hasText: "ready" }).waitFor();
  await page.locator('button[data-act="log"]').waitFor();
  await page.keyboard.press("l");
  const log = page.locator("#detail .log");
  await log.filter({ hasText: "line 1\n" }).waitFor();
  const lines = async () => (await log.textContent()).trim().split("\n").length;
  const before = await lines();
  await page.waitForFunction((before) => document.querySelector("#detail .log").textContent.trim().split("\n").length > before, before);
  await picture(page, "log");
  assert.deepEqual(await violations(page), []);
  // Closed, it is followed no longer.
  await page.keyboard.press("Escape");
  await log.waitFor({ state: "detached" });
  shown.check();
});
