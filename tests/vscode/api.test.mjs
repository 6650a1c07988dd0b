// Runs the tests of in_host/ inside VS Code's extension host.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { startBed } from "./bed.mjs";
import { CLIENT } from "./paths.mjs";
import { until } from "./until.mjs";

const IN_HOST = join(import.meta.dirname, "in_host");
const USE_THE_PATHS = ["--vscode-option", "enable-smoke-test-driver"]; // else VS Code ignores those in the address

/** Runs `file` of in_host/ with the extension in `folder` beside those installed, and reports each of its tests. */
async function runInHost(t, file, folder, bedOptions) {
  const bed = await startBed({ extraArguments: USE_THE_PATHS, ...bedOptions });
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
  const payload = [
    ["extensionDevelopmentPath", remote(folder)],
    ["extensionTestsPath", remote(join(IN_HOST, file))],
  ];
  url.searchParams.set("folder", bed.workspace);
  url.searchParams.set("payload", JSON.stringify(payload));
  await bed.page.goto(url.href, { waitUntil: "domcontentloaded" });
  await until("the end of the tests", () => status !== undefined, 180_000);

  for (const { name, error } of results) {
    await t.test(name, () => assert.equal(error, null));
  }
  assert.equal(status, 0);
}

test("the features through VS Code's own interface", async (t) => {
  await runInHost(t, "features.cjs", CLIENT, { vsix: null });
});

test("the interpreter that the Python extension has selected", async (t) => {
  await runInHost(t, "interpreter.cjs", join(IN_HOST, "python_extension"), { interpreter: [] });
});
