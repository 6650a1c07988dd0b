// The checks of diagnostics notice a server that says something wrong.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { CHECKS } from "./diagnostics_checks.mjs";
import { NODE, TORCH_PYTHON } from "./paths.mjs";
import { suite } from "./suite.mjs";
import { until } from "./until.mjs";

/** Ways to err, and what is underlined then in place of x.sum() > 0. */
const MISTAKES = {
  "wrong range": /^\.sum\(\) > 0:$/,
  "dropped diagnostics": /^$/,
  "stale version": /^'é/,
};

suite("mutants", {}, (editor) => {
  /** How the server's messages are spoiled from now on. */
  const spoil = (how) => writeFileSync(join(editor.workspace, "..", "mutant"), how);

  async function runChecks(limit) {
    for (const check of Object.values(CHECKS)) {
      await check(editor, limit);
    }
  }

  before(async () => {
    spoil("nothing");
    const mutant = [join(import.meta.dirname, "mutant.mjs"), join(editor.workspace, "..", "mutant")];
    const server = [NODE, ...mutant, "python3"];
    editor.setMachineSettings({ "fxLsp.interpreter": [TORCH_PYTHON], "fxLsp.server.python": server });
    await editor.open("rectify.py");
  });

  test("with nothing spoiled the checks pass", () => runChecks());

  for (const [how, seen] of Object.entries(MISTAKES)) {
    test(`a check fails where the server's mistake is: ${how}; what is right afterwards passes again`, async () => {
      spoil(how);
      await assert.rejects(runChecks(5_000), /^Error: (listed|underlined): /);
      await until("the mistake", async () => seen.test((await editor.squiggles()).join()));
      spoil("nothing");
      await editor.revert();
      await runChecks();
    });
  }
});
