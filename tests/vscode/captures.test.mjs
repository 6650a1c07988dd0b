// Captures other than symbolic tracing, in a real VS Code: the models of a workspace that exports one of several.
import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join, resolve } from "node:path";
import { before, test } from "node:test";
import { suite } from "./suite.mjs";

const MODELS = resolve(import.meta.dirname, "../workspaces/captures/export_one_of_several");

suite("captures", { viewport: { width: 1500, height: 900 } }, (editor) => {
  before(() => {
    cpSync(MODELS, join(editor.workspace, "captures"), { recursive: true });
    return editor.open("captures/models.py", {
      folder: join(editor.workspace, "captures"),
    });
  });

  test("the lens of a model that is exported tells what came of each capture", async () => {
    await editor.lens("✗ fx: 2 places · ✓ export (dynamic batch)");
  });

  test("its hover says what it was exported for, and why its failures are not shown", async () => {
    const text = await editor.hover("class Classifier", "Classifier", "torch.export");
    assert.match(text, /it can be exported for x: \[2, 4\]/);
    assert.match(text, /Your code does not trace it/);
  });

  test("a click opens the exported program beside the source", async () => {
    await editor.click(await editor.lens("exported program"));
    await editor.page.locator(".tab", { hasText: "export.py" }).first().waitFor();
    await editor.line("torch.ops.aten");
  });

  test("a model that nobody captures is captured on request", async () => {
    await editor.click(await editor.lens("try export and compile"));
    await editor.lens("✗ fx: 1 place · ✗ export: 1 place · ✗ compile: 1 place");
  });
});
