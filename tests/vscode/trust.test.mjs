// A workspace that nobody has marked as trusted: none of its code may run.
import assert from "node:assert/strict";
import { test } from "node:test";
import { startBed } from "./bed.mjs";
import { processesBelow } from "./processes.mjs";
import { Workbench } from "./workbench.mjs";

test("nothing runs before the workspace is trusted, the reason is said, and all works after", async (t) => {
  const bed = await startBed({ trusted: false, settings: { "security.workspace.trust.startupPrompt": "never" } });
  t.after(() => bed.stop());
  const servers = () => processesBelow(bed.pid).filter(({ command }) => command.includes("launch.py"));
  const editor = new Workbench(bed);

  await editor.open("rectify.py");
  await bed.page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor();
  assert.match(await editor.languageStatus(), /nothing is traced.*not trusted/s);
  await editor.command("Workspaces: Manage Workspace Trust");
  await bed.page.locator(".workspace-trust-editor", { hasText: "You are in Restricted Mode" }).waitFor();
  assert.deepEqual(servers(), []);

  await bed.page.keyboard.press("Control+Enter");
  await bed.page.locator(".workspace-trust-editor", { hasText: "You trust this folder" }).waitFor();
  await bed.page.keyboard.press("Escape");
  await editor.underlined(["x.sum() > 0"], 120_000);
  assert.equal(servers().length, 1);
});
