// Captures other than symbolic tracing, in a real VS Code: the models of a workspace that exports one of several.
import assert from "node:assert/strict";
import { cpSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { before, test } from "node:test";
import { GraphPage } from "./graph_page.mjs";
import { suite } from "./suite.mjs";

const MODELS = resolve(import.meta.dirname, "../workspaces/captures/export_one_of_several");

const EXPORTED = `import torch
from torch import nn


class Gate(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x - 1


torch.export.export(Gate(), (torch.ones(2, 4),))
`;

suite("captures", { viewport: { width: 1500, height: 900 } }, (editor) => {
  before(() => {
    cpSync(MODELS, join(editor.workspace, "captures"), { recursive: true });
    writeFileSync(join(editor.workspace, "captures/gate.py"), EXPORTED);
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
    await editor.clickLens("exported program", editor.page.locator(".tab", { hasText: "export.py" }));
    await editor.line("torch.ops.aten");
  });

  test("the graph view switches from fx to the exported program", async () => {
    const graph = new GraphPage(editor.page);
    await editor.goInto("captures/models.py", "class Classifier");
    await editor.command("fx-lsp: Show Graph");
    await graph.frame.getByRole("heading", { name: "✗ fx: 2 places" }).waitFor();
    await graph.frame.getByRole("combobox", { name: "Capture" }).selectOption("export");
    await graph.frame.locator("#summary").filter({ hasText: "shapes for x: [2, 4]" }).waitFor();
    await graph.ready();
    await graph.tab("Table").click();
    const table = graph.frame.getByRole("grid", { name: "Nodes in the order of execution" });
    await table.getByRole("row").filter({ hasText: "aten." }).first().click();
    await editor.page.locator("#status\\.editor\\.selection").filter({ hasText: "Ln" }).waitFor();
    assert.equal(await graph.frame.locator("#failures").isVisible(), false);
  });

  test("a model that nobody captures is captured on request", async () => {
    await editor.click(await editor.lens("try export and compile"));
    await editor.lens("✗ fx: 1 place · ✗ export: 1 place · ✗ compile: 1 place");
  });

  test("a fix for a failure of an export is offered and applied", async () => {
    await editor.openFile("captures/gate.py");
    await editor.lens("✗ fx: 1 place · ✗ export: 1 place");
    await editor.goInto("captures/gate.py", "x.sum()");
    await editor.click(await editor.quickFix("torch.where"));
    await editor.line("torch.where(x.sum() > 0, x * 2, x - 1)");
    await editor.lens("✓ export (dynamic batch)");
  });
});
