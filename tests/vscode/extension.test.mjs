// What the extension does around the language server: status, commands, settings, recovery.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { startBed } from "./bed.mjs";
import { SHOTS } from "./paths.mjs";
import { processesBelow, signal } from "./processes.mjs";
import { until } from "./until.mjs";
import { Workbench } from "./workbench.mjs";

let bed, editor;

before(async () => {
  mkdirSync(SHOTS, { recursive: true });
  bed = await startBed();
  editor = new Workbench(bed);
  await editor.open("rectify.py");
  await editor.underlined(["x.sum() > 0"], 120_000);
});

after(() => bed?.stop());

afterEach((t) => bed.page.screenshot({ path: join(SHOTS, `extension-${t.name.replace(/\W+/g, "-")}.png`) }));

const agents = () => processesBelow(bed.pid).filter(({ command }) => /fx_lsp[./]agent/.test(command));

/** Changes the workspace's settings, as a person would in the file. */
function setWorkspaceSettings(settings) {
  mkdirSync(join(bed.workspace, ".vscode"), { recursive: true });
  writeFileSync(join(bed.workspace, ".vscode/settings.json"), JSON.stringify(settings));
}

test("the language status names PyTorch and Python", async () => {
  await until("the versions", async () => /torch \d.* Python 3/.test(await editor.languageStatus()));
});

test("its click opens all that can be done", async () => {
  await editor.clickLanguageStatus("Actions");
  const rows = bed.page.locator(".quick-input-widget .monaco-list-row");
  await rows.first().waitFor();
  const labels = (await rows.allInnerTexts()).join("\n");
  for (const action of ["Show Logs", "Restart Tracing Process", "Restart Language Server", "Select Interpreter"]) {
    assert.ok(labels.includes(action), `${action} is not among ${labels}`);
  }
  await bed.page.keyboard.press("Escape");
});

test("debug information is a document that follows what it tells, without the values of environment variables", async () => {
  const line = (text) => bed.page.locator(".view-line", { hasText: text }).first().waitFor();
  await editor.command("fx-lsp: Show Debug Information");
  await bed.page.locator(".tab.active", { hasText: "debug information" }).waitFor();
  await line(/workspace\strusted:\syes/);
  await line(/PyTorch\sthat\straces:\s\d/);
  setWorkspaceSettings({ "fxLsp.env": { SECRET_NAME: "secret value" } });
  await line(/"SECRET_NAME":\s"…"/);
  setWorkspaceSettings({});
  await editor.openFile("rectify.py");
  await editor.underlined(["x.sum() > 0"], 60_000);
});

test("a setting takes effect without a restart", async () => {
  await editor.underlined(["x.sum() > 0"]);
  const server = processesBelow(bed.pid).find(({ command }) => command.includes("launch.py"));
  setWorkspaceSettings({ "fxLsp.exclude": ["rectify.py"] });
  await editor.underlined([]);
  setWorkspaceSettings({});
  await editor.underlined(["x.sum() > 0"], 60_000);
  assert.ok(
    processesBelow(bed.pid).some(({ pid }) => pid === server.pid),
    "the server is the same",
  );
});

test("the restart command of the tracing process brings another one", async () => {
  const [old] = agents();
  assert.ok(old);
  await editor.command("fx-lsp: Restart Tracing Process");
  await until("another tracing process", () => agents().length > 0 && !agents().some(({ pid }) => pid === old.pid));
  await editor.underlined(["x.sum() > 0"], 60_000);
});

test("a tracing process that is killed comes back with the next edit", async () => {
  const old = agents();
  old.forEach(({ pid }) => signal(pid, "SIGKILL"));
  await until("its end", () => !agents().some(({ pid }) => pid === old[0].pid));
  const lines = readFileSync(join(bed.workspace, "rectify.py"), "utf8").split("\n");
  const line = lines.findIndex((text) => text.includes("x.sum() > 0"));
  await editor.goTo(line + 1, lines[line].indexOf("x.sum()") + 1);
  await bed.page.keyboard.type("1 + ");
  await editor.underlined(["1 + x.sum() > 0"], 60_000);
});

test("the cache is cleared on request, and everything is traced anew", async () => {
  await editor.command("fx-lsp: Clear Cache");
  await bed.page.locator(".notification-toast", { hasText: /MiB were removed/ }).waitFor();
  await editor.underlined(["1 + x.sum() > 0"], 60_000);
});

test("the interpreter can be chosen, or left to be found", async () => {
  await editor.command("fx-lsp: Select Interpreter for Tracing");
  await bed.page.locator('.quick-input-widget input[placeholder*="/python"]').waitFor();
  await editor.answer("Find one by itself");
});

test("the problems panel leads to the place", async () => {
  await editor.goTo(1, 1);
  await bed.page.keyboard.press("Control+Shift+M");
  const row = bed.page.locator(".markers-panel .monaco-list-row", { hasText: "depends on" }).first();
  await row.waitFor();
  await row.dblclick();
  await bed.page.locator("#status\\.editor\\.selection", { hasText: "Ln 9" }).waitFor();
  await bed.page.keyboard.press("Control+Shift+M");
});
