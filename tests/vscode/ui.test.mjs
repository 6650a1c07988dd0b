// The packaged extension in a real VS Code, over a copy of examples/models: what a person sees and does.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { CHECKS } from "./diagnostics_checks.mjs";
import { TORCH_PYTHON } from "./paths.mjs";
import { picture, suite } from "./suite.mjs";
import { until } from "./until.mjs";

suite("ui", {}, (editor) => {
  before(() => editor.open("rectify.py"));

  for (const [name, check] of Object.entries(CHECKS)) {
    test(name, () => check(editor));
  }

  test("its code leads to the page of the rule", async () => {
    await editor.hover("if x.sum() > 0", "x.sum()", "fx-lsp");
    await picture(editor, "hover-on-a-failure");
    await editor.page.locator(".monaco-hover:not(.hidden) a", { hasText: "control-flow" }).first().click();
    await editor.page.locator(".tab.active", { hasText: "control-flow.md" }).waitFor();
    await editor.leave();
    await editor.openFile("rectify.py");
  });

  test("resting on a model that traces shows its generated forward", async () => {
    await editor.openFile("classifier.py");
    const card = await editor.hover("class Classifier", "Classifier", "def forward");
    assert.match(card, /\d+ nodes/);
    assert.match(card, /def forward\(self, images/);
    await picture(editor, "hover-on-a-model");
    await editor.leave();
    await editor.underlined([]);
  });

  test("every kind of branch is underlined where it asks for a truth value", async () => {
    await editor.openFile("heads.py");
    for (const [line, expression] of [
      [17, "x.shape[-2] > self.size"],
      [26, "x.dim() == 4"],
      [34, "x.mean() >= 0"],
      [47, "height == width"],
    ]) {
      await editor.goTo(line, 1); // lenses push the last ones out of view
      await until(`a squiggle in line ${line}`, async () => (await editor.squiggles()).includes(expression));
    }
  });

  test("the quick fix wraps the function, and the file traces", async () => {
    await editor.openFile("normalize.py");
    await editor.underlined(["len(x)"]);
    const original = editor.onDisk("normalize.py");
    await editor.goInto("normalize.py", "len(x)");
    const wrap = await editor.quickFix('torch.fx.wrap("len")');
    await picture(editor, "quick-fix-menu");
    await editor.click(wrap);
    await editor.underlined([]);
    assert.equal(editor.onDisk("normalize.py"), original, "only the buffer has changed");
    await editor.save();
    assert.match(editor.onDisk("normalize.py"), /^torch\.fx\.wrap\("len"\)$/m);
  });

  test("a model's failure in another file is shown there, and fixed in the model's", async () => {
    await editor.openFile("encoder.py");
    await editor.openFile("padding.py");
    await editor.underlined(["missing > 0"]);
    await editor.goInto("padding.py", "missing > 0");
    await editor.click(await editor.quickFix('torch.fx.wrap("pad_to_multiple")'));
    await editor.underlined([]);
    await editor.openFile("encoder.py");
    await editor.save();
    assert.match(editor.onDisk("encoder.py"), /^torch\.fx\.wrap\("pad_to_multiple"\)$/m);
  });

  test("shapes stand behind what a forward computes, until a setting turns them off", async () => {
    await editor.openFile("classifier.py");
    const features = () => editor.line("self.blocks(torch.relu");
    await until("a shape", async () => (await features()).includes("features: [b, 16, h/2, w/2] ="));
    editor.setWorkspaceSettings({ "fxLsp.shapes": "off" });
    await until("the text alone", async () => (await features()).includes("features ="));
    editor.setWorkspaceSettings({});
  });

  test("all proven fixes of a file are applied at once, and the saved file traces", async () => {
    const file = join(editor.workspace, "several.py");
    cpSync(join(import.meta.dirname, "several.py"), file);
    assert.throws(() => execFileSync(TORCH_PYTHON, [file], { stdio: "pipe" }), /TraceError|TypeError|RuntimeError/);
    await editor.openFile("several.py");
    await editor.underlined(["len(x)", "missing > 0"]);
    await editor.click(await editor.sourceAction("Apply all proven fixes in this file"));
    await editor.underlined([]);
    await editor.save();
    execFileSync(TORCH_PYTHON, [file], { stdio: "pipe" });
  });

  test("a failure in a notebook is underlined in its cell", async () => {
    const cell = (...source) => ({ cell_type: "code", metadata: {}, execution_count: null, outputs: [], source });
    const [head, rest] = editor.onDisk("rectify.py").split("\n\n\ndef");
    const cells = [
      cell(`%matplotlib inline\n${head}`),
      cell(`def${rest.split("\n\n\nif")[0]}`),
      cell("fx.symbolic_trace(rectify)"),
    ];
    const metadata = { language_info: { name: "python" } };
    writeFileSync(
      join(editor.workspace, "notebook.ipynb"),
      JSON.stringify({ cells, metadata, nbformat: 4, nbformat_minor: 5 }),
    );
    await editor.openTab("notebook.ipynb");
    await editor.underlined(["x.sum() > 0"]);
  });
});
