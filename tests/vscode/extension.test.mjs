// What the extension does around the language server: status, commands, settings, recovery.
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { TORCH_PYTHON } from "./paths.mjs";
import { signal } from "./processes.mjs";
import { agents, anotherServer, servers } from "./servers.mjs";
import { picture, suite } from "./suite.mjs";
import { until } from "./until.mjs";

suite("extension", {}, (editor) => {
  before(async () => {
    await editor.open("rectify.py");
    await editor.underlined(["x.sum() > 0"]);
  });

  /** Edits the text, and waits for what only an answer to that shows: a squiggle does not grow with what is typed at its edge. */
  async function answersAnEdit() {
    await editor.goInto("rectify.py", "x.sum()");
    await editor.page.keyboard.press("ArrowLeft");
    await editor.page.keyboard.type("1 + ");
    await editor.underlined(["1 + x.sum() > 0"]);
    await editor.revert();
  }

  test("the language status names PyTorch and Python", async () => {
    await until("the versions", async () => /torch \d.* Python 3/.test(await editor.languageStatus()));
  });

  test("its click opens all that can be done, as a command does", async () => {
    const rows = editor.page.locator(".quick-input-widget .monaco-list-row", { hasText: "Restart Tracing Process" });
    await editor.clickLanguageStatus("Actions");
    await rows.waitFor();
    await editor.page.keyboard.press("Escape");
    await editor.command("fx-lsp: Show Actions");
    await rows.waitFor();
    await editor.answer("Show Debug Information");
  });

  test("debug information is a document that follows what it tells, without the values of environment variables", async () => {
    const line = (text) => editor.page.locator(".view-line", { hasText: text }).first().waitFor();
    await editor.page.locator(".tab.active", { hasText: "debug information" }).waitFor();
    await editor.closeEditor("debug information");
    await editor.command("fx-lsp: Show Debug Information");
    await line(/workspace\strusted:\syes/);
    await line(/PyTorch\sthat\straces\syour\smodels:\s\d/);
    editor.setWorkspaceSettings({ "fxLsp.env": { SECRET_NAME: "secret value" } });
    await line(/"SECRET_NAME":\s"…"/);
    editor.setWorkspaceSettings({});
    await editor.openFile("rectify.py");
    await editor.underlined(["x.sum() > 0"]);
  });

  test("a setting takes effect without a restart", async () => {
    await editor.underlined(["x.sum() > 0"]);
    const before_ = servers(editor);
    editor.setWorkspaceSettings({ "fxLsp.exclude": ["rectify.py"] });
    await editor.underlined([]);
    editor.setWorkspaceSettings({});
    await editor.underlined(["x.sum() > 0"]);
    assert.deepEqual(servers(editor), before_, "the server is the same");
  });

  test("the restart command of the tracing process brings another one", async () => {
    const [old] = agents(editor);
    assert.ok(old);
    await editor.command("fx-lsp: Restart Tracing Process");
    await until("another tracing process", () => {
      const running = agents(editor);
      return running.length > 0 && !running.some(({ pid }) => pid === old.pid);
    });
    await answersAnEdit();
  });

  test("a tracing process that is killed comes back with the next edit", async () => {
    const old = agents(editor);
    old.forEach(({ pid }) => signal(pid, "SIGKILL"));
    await until("its end", () => !agents(editor).some(({ pid }) => pid === old[0].pid));
    await answersAnEdit();
  });

  test("a file is traced again on request, since what it reads may have changed", async () => {
    const source = `from pathlib import Path\nMARKED = Path(__file__).with_name("mark.txt").exists()\n\n`;
    const marked = editor.onDisk("rectify.py").replace("if x.sum() > 0:", "if MARKED and x.sum() > 0:");
    writeFileSync(join(editor.workspace, "marked.py"), source + marked);
    await editor.openFile("marked.py");
    await editor.lens("✓");
    await editor.underlined([]);
    writeFileSync(join(editor.workspace, "mark.txt"), "");
    await editor.command("fx-lsp: Trace This File");
    await editor.underlined(["x.sum() > 0"]);
    await editor.closeEditor("marked.py");
    rmSync(join(editor.workspace, "marked.py"));
    await editor.openFile("rectify.py");
  });

  test("tracing is paused and goes on, by command and from the status", async () => {
    await editor.command("fx-lsp: Pause Tracing");
    await until("the status", async () => /paused/.test(await editor.languageStatus()));
    await editor.goInto("rectify.py", "x.sum()");
    await editor.page.keyboard.press("ArrowLeft");
    await editor.page.keyboard.type("1 + ");
    await editor.command("fx-lsp: Show Actions");
    await editor.answer("Resume Tracing");
    await editor.underlined(["1 + x.sum() > 0"]);
    await editor.revert();
    await editor.command("fx-lsp: Pause Tracing");
    await editor.command("fx-lsp: Resume Tracing");
    await answersAnEdit();
  });

  test("the cache is cleared on request, and everything is traced anew", async () => {
    await editor.command("fx-lsp: Clear Cache");
    await editor.page.locator(".notification-toast", { hasText: /Deleted .* MiB/ }).waitFor();
    await answersAnEdit();
  });

  test("the problems panel leads to the place", async () => {
    await editor.goTo(1, 1);
    await editor.page.keyboard.press("Control+Shift+M");
    const row = editor.page.locator(".markers-panel .monaco-list-row", { hasText: /depends on.*\[Ln 9,/ });
    await row.waitFor();
    await row.dblclick();
    await editor.page.locator("#status\\.editor\\.selection", { hasText: "Ln 9" }).waitFor();
    await editor.page.keyboard.press("Control+Shift+M");
  });

  test("the restart command brings another server", async () => {
    const [old, ...others] = servers(editor);
    assert.deepEqual(others, []);
    await editor.command("fx-lsp: Restart Language Server");
    await anotherServer(editor, old);
    await answersAnEdit();
  });

  test("a server that is killed comes back by itself", async () => {
    const [old] = servers(editor);
    signal(old.pid, "SIGKILL");
    await anotherServer(editor, old);
    await answersAnEdit();
  });

  test("a server that is killed while tracing is paused comes back paused", async () => {
    await editor.command("fx-lsp: Pause Tracing");
    await until("the status", async () => /paused/.test(await editor.languageStatus()));
    const [old] = servers(editor);
    signal(old.pid, "SIGKILL");
    await anotherServer(editor, old);
    await until("the status", async () => /paused/.test(await editor.languageStatus()));
    await editor.command("fx-lsp: Resume Tracing");
    await answersAnEdit();
  });

  test("a Python that the server can't run on is named, and a better one is taken at once", async () => {
    editor.setMachineSettings({ "fxLsp.interpreter": [TORCH_PYTHON], "fxLsp.server.python": ["/nowhere/python"] });
    const message = editor.page.locator(".notification-toast", { hasText: "needs Python 3.10 or newer" });
    await message.locator(".monaco-button", { hasText: "Open Settings" }).waitFor();
    await until("the server's end", () => servers(editor).length === 0);
    await picture(editor, "no-python");
    editor.setMachineSettings({ "fxLsp.interpreter": [TORCH_PYTHON], "fxLsp.server.python": [TORCH_PYTHON] });
    await until("a server on it", () => servers(editor).some(({ command }) => command.startsWith(TORCH_PYTHON)));
    await answersAnEdit();
  });

  test("the log can be read", async () => {
    await editor.command("fx-lsp: Show Logs");
    await editor.page
      .locator(".panel .view-line", { hasText: /Starting\sthe\sserver/ })
      .first()
      .waitFor();
  });
});
