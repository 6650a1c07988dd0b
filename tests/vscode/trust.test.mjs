// A workspace that nobody has marked as trusted: none of its code may run.
import assert from "node:assert/strict";
import { test } from "node:test";
import { servers } from "./servers.mjs";
import { suite } from "./suite.mjs";

const settings = { "security.workspace.trust.startupPrompt": "never" };

suite("trust", { trusted: false, settings }, (editor) => {
  test("nothing runs before the workspace is trusted, the reason is said, and all works after", async () => {
    await editor.open("rectify.py");
    await editor.page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor();
    assert.match(await editor.languageStatus(), /nothing is traced.*not trusted/s);
    await editor.command("Workspaces: Manage Workspace Trust");
    await editor.page.locator(".workspace-trust-editor", { hasText: "You are in Restricted Mode" }).waitFor();
    assert.deepEqual(servers(editor), []);

    await editor.page.keyboard.press("Control+Enter");
    await editor.page.locator(".workspace-trust-editor", { hasText: "You trust this folder" }).waitFor();
    await editor.page.keyboard.press("Escape");
    await editor.underlined(["x.sum() > 0"], 120_000);
    assert.equal(servers(editor).length, 1);
  });
});
