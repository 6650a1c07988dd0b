// Runs in_extension_host.cjs inside VS Code's extension host, with the extension's folder as it is, not packaged.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { startBed } from "./bed.mjs";
import { CLIENT } from "./paths.mjs";
import { until } from "./until.mjs";

test("the extension through VS Code's own API", async (t) => {
  const driver = ["--vscode-option", "enable-smoke-test-driver"]; // without it the two paths below are ignored
  const bed = await startBed({ vsix: null, extraArguments: driver });
  t.after(() => bed.stop());

  const results = [];
  let status;
  await bed.page.exposeFunction("codeAutomationLog", (_type, [text]) => {
    const result = /^RESULT (.*)$/s.exec(text);
    if (result) {
      results.push(JSON.parse(result[1]));
    }
  });
  await bed.page.exposeFunction("codeAutomationExit", (code) => (status = code));

  const url = new URL(bed.address);
  const remote = (path) => `vscode-remote://${url.host}${path}`;
  url.searchParams.set("folder", bed.workspace);
  url.searchParams.set(
    "payload",
    JSON.stringify([
      ["extensionDevelopmentPath", remote(CLIENT)],
      ["extensionTestsPath", remote(join(import.meta.dirname, "in_extension_host.cjs"))],
    ]),
  );
  await bed.page.goto(url.href, { waitUntil: "domcontentloaded" });
  await until("the end of the tests", () => status !== undefined, 180_000);

  for (const { name, error } of results) {
    await t.test(name, () => assert.equal(error, null));
  }
  assert.equal(status, 0);
});
