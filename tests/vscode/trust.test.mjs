// A workspace that nobody has marked as trusted: none of its code may run, and nothing but the server is started.
import assert from "node:assert/strict";
import { test } from "node:test";
import { processesBelow, signal } from "./processes.mjs";
import { anotherServer, servers } from "./servers.mjs";
import { suite } from "./suite.mjs";

const settings = { "security.workspace.trust.startupPrompt": "never" };

const startedBy = ({ pid }) => processesBelow(pid).filter((process) => process.pid !== pid);

suite("trust", { trusted: false, settings }, (editor) => {
  test("nothing runs before the workspace is trusted, the reason is said, and all works after", async () => {
    await editor.open("rectify.py");
    await editor.page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor();
    assert.match(await editor.languageStatus(), /tracing is off.*not trusted/s);
    await editor.page
      .locator(".codelens-decoration", { hasText: "not traced: this workspace is not trusted" })
      .waitFor();
    const [server, ...others] = servers(editor);
    assert.ok(server && others.length === 0);
    assert.deepEqual(startedBy(server), []);

    await editor.command("Workspaces: Manage Workspace Trust");
    await editor.page.locator(".workspace-trust-editor", { hasText: "You are in Restricted Mode" }).waitFor();
    await editor.page.keyboard.press("Control+Enter");
    await editor.page.locator(".workspace-trust-editor", { hasText: "You trust this folder" }).waitFor();
    await editor.page.keyboard.press("Escape");
    await editor.underlined(["x.sum() > 0"]);
    assert.deepEqual(
      servers(editor).map(({ pid }) => pid),
      [server.pid],
      "without a restart",
    );
    assert.notDeepEqual(startedBy(server), []);
  });

  test("a server that is killed comes back knowing of the trust", async () => {
    const [old] = servers(editor);
    signal(old.pid, "SIGKILL");
    await anotherServer(editor, old);
    await editor.goInto("rectify.py", "x.sum()");
    await editor.page.keyboard.press("ArrowLeft");
    await editor.page.keyboard.type("1 + ");
    await editor.underlined(["1 + x.sum() > 0"]);
  });
});
