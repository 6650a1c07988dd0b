// The checks of the other files notice a server that says something wrong.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startBed } from "./bed.mjs";
import { NODE, TORCH_PYTHON } from "./paths.mjs";
import { Workbench } from "./workbench.mjs";

const CONDITION = [9, 8];

let bed, editor, spoilers;

/** How the server's messages are spoiled from now on. */
const spoil = (how) => writeFileSync(spoilers, how);

before(async () => {
  bed = await startBed();
  spoilers = join(bed.workspace, "..", "mutant");
  spoil("nothing");
  const server = [NODE, join(import.meta.dirname, "mutant.mjs"), spoilers, "python3"];
  bed.setMachineSettings({ "fxLsp.interpreter": [TORCH_PYTHON], "fxLsp.server.python": server });
  editor = new Workbench(bed);
  await editor.open("rectify.py");
});

after(() => bed?.stop());

/** Types before the condition that fails. */
async function edit(text) {
  await editor.goTo(...CONDITION);
  await bed.page.keyboard.type(text);
}

test("with nothing spoiled the check passes", async () => {
  await editor.underlined(["x.sum() > 0"], 120_000);
});

let condition = "x.sum() > 0";

for (const how of ["wrong range", "dropped diagnostics", "stale version"]) {
  test(`the server's mistake is noticed: ${how}; what is right afterwards passes again`, async () => {
    spoil(how);
    await edit("1 + ");
    condition = `1 + ${condition}`;
    const expected = [condition];
    await assert.rejects(editor.underlined(expected, 5_000), /underlined: /);
    spoil("nothing");
    await edit(" ");
    await bed.page.keyboard.press("Backspace");
    await editor.underlined(expected);
  });
}
