// Runs the tests of in_host/ inside VS Code's extension host.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { suite } from "./suite.mjs";
import { LIMIT, until } from "./until.mjs";

const IN_HOST = join(import.meta.dirname, "in_host");

suite("api", { bed: { inHost: true }, interpreter: [] }, (editor) => {
  test("the features through VS Code's own interface", async (t) => {
    const results = [];
    let status;
    await editor.page.exposeFunction("codeAutomationLog", (_type, [text]) => {
      const result = /^RESULT (.*)$/s.exec(text);
      if (result) {
        results.push(JSON.parse(result[1]));
      }
    });
    await editor.page.exposeFunction("codeAutomationExit", (code) => (status = code));
    await editor.goto([
      ["extensionDevelopmentPath", editor.uri(join(IN_HOST, "python_extension"))],
      ["extensionTestsPath", editor.uri(join(IN_HOST, "all.cjs"))],
    ]);
    await until("the end of the tests", () => status !== undefined, 5 * LIMIT);

    for (const { name, error } of results) {
      await t.test(name, () => assert.equal(error, null));
    }
    assert.equal(status, 0);
  });
});
