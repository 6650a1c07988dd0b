// What a model costs, in a real VS Code: the lens, hovers, the graph's tables, an expectation that fails and is mended.
import assert from "node:assert/strict";
import { join } from "node:path";
import { before, test } from "node:test";
import { GraphPage } from "./graph_page.mjs";
import { SHOTS } from "./paths.mjs";
import { suite } from "./suite.mjs";

suite("costs", { viewport: { width: 1500, height: 900 } }, (editor) => {
  before(async () => {
    await editor.open("classifier.py");
  });

  test("the lens shows the operations and the input that they are for", async () => {
    const lens = await editor.lens(/FLOPs\sat\s\[\d+,\s3,/);
    assert.match(await lens.innerText(), /\d+\snodes\s·\s[\d.]+\sk\sparameters\s·\s[\d.]+\sMFLOPs\sat\s\[/);
  });

  test("a hover on the class shows what the whole model costs", async () => {
    const card = await editor.hover("class Classifier", "Classifier", "a multiply-add is two");
    assert.match(card, /float32\) parameters · [\d.]+ MFLOPs/);
    assert.match(card, /of activations, [\d.]+ [KM]iB at the peak, for images: \[/);
    await editor.leave();
  });

  test("a hover on a submodule's assignment shows its share", async () => {
    const card = await editor.hover("self.stem = nn.Conv2d", "self.stem", "parameters");
    assert.match(
      card,
      /^stem \(Conv2d, .*\): 2\.37 k \([\d.]+ KiB float32\) parameters, [\d.]+ % · [\d.]+ MFLOPs, [\d.]+ %/,
    );
    await editor.leave();
  });

  test("a hover on a call in a forward shows what the call costs", async () => {
    const card = await editor.hover("return self.head(pooled)", "self.head", "parameters");
    assert.match(card, /head \(Linear\): 1\.7 k .* parameters/);
    await editor.leave();
  });

  test("the table of the graph is sorted by operations, and back", async () => {
    await editor.clickLens("graph", editor.page.locator(".tab", { hasText: "Graph of" }), 1);
    const graph = new GraphPage(editor.page);
    await graph.ready();
    await graph.tab("Table").click();
    const table = graph.frame.getByRole("grid", { name: "Nodes in the order of execution" });
    const first = () => table.locator("[data-index='0']").innerText();
    assert.match(await first(), /placeholder/);
    const heading = table.getByRole("button", { name: "FLOPs" });
    await heading.click();
    assert.match(await first(), /Conv2d/);
    assert.equal(await table.locator("[aria-sort=descending]").innerText(), "FLOPs");
    const flops = async (row) =>
      Number((await table.locator(`[data-index='${row}'] > :nth-child(7)`).innerText()).replaceAll(",", ""));
    assert.ok((await flops(0)) >= (await flops(1)) && (await flops(1)) > 0);
    await heading.click();
    assert.match(await first(), /placeholder/);
  });

  test("the drawing is shaded by operations, with a legend", async () => {
    const graph = new GraphPage(editor.page);
    const legend = graph.frame.locator("#legend");
    const detail = graph.frame.locator("#detail");
    await graph.tab("Graph").click();
    await graph.find("stem");
    await graph.selected(/^stem, call_module, Conv2d/);
    assert.doesNotMatch(await detail.innerText(), /%/);
    assert.ok(!(await legend.isVisible()));
    await graph.frame.getByLabel("Shade").selectOption("FLOPs");
    await legend.getByText("Share of the counted FLOPs").waitFor();
    const swatches = legend.locator("span");
    const colours = await swatches.evaluateAll((all) => all.map((each) => getComputedStyle(each).backgroundColor));
    assert.equal(new Set(colours).size, 6);
    await graph.selected(/^stem, .*, \d+ % of the FLOPs/);
    assert.match(await detail.innerText(), /\d+ % of the FLOPs$/);
    await editor.page.screenshot({ path: join(SHOTS, "graph-shaded.png") });
    await graph.frame.getByLabel("Shade").selectOption("none");
    await legend.waitFor({ state: "hidden" });
  });

  test("the graph is counted for another input, and for the found one again", async () => {
    const graph = new GraphPage(editor.page);
    const field = graph.frame.getByLabel("Input", { exact: true });
    const status = graph.frame.locator("#input-status");
    const enter = async (text) => {
      await field.fill(text);
      await field.press("Enter");
    };
    const summary = async (expected) => {
      await graph.summary.filter({ hasText: expected }).waitFor();
      return graph.summary.innerText();
    };
    const flops = async () => Number((await graph.ready()).match(/([\d,]+) FLOPs/)[1].replaceAll(",", ""));
    const found = await field.getAttribute("placeholder");
    const sizes = found
      .match(/^images: \[(\d+), 3, (\d+), (\d+)\]$/)
      .slice(1)
      .map(Number);
    const first = await flops();

    await enter("images=torch.rand(1, 3, 512, 512)");
    await summary("shapes for images: [1, 3, 512, 512]");
    // Convolutions cost in proportion to the pixels, and the rest of this model next to nothing.
    const ratio = (await flops()) / first / ((512 * 512) / sizes.reduce((product, size) => product * size));
    assert.ok(Math.abs(ratio - 1) < 0.01, `${ratio}`);
    assert.equal(await status.innerText(), "");

    await enter("torch.rand(1, 5, 512, 512)");
    await status.filter({ hasText: "Not counted: the model does not accept it, at `stem`: RuntimeError" }).waitFor();
    assert.equal(await field.getAttribute("aria-invalid"), "true");
    await editor.page.screenshot({ path: join(SHOTS, "graph-input.png") });
    assert.match(await graph.summary.innerText(), /shapes for images: \[1, 3, 512, 512\]/);
    await enter("torch.rand(1,");
    await status.filter({ hasText: "Not counted: it is not a valid list of arguments" }).waitFor();

    await field.fill("");
    await summary(`shapes for ${found}`);
    assert.equal(await flops(), first);
    assert.equal(await field.getAttribute("aria-invalid"), "false");
    assert.equal(await status.innerText(), "");
  });

  test("the input stays when the window is loaded anew", async () => {
    const graph = new GraphPage(editor.page);
    const field = graph.frame.getByLabel("Input", { exact: true });
    await field.fill("torch.rand(2, 3, 96, 96)");
    await field.press("Enter");
    await graph.summary.filter({ hasText: "shapes for images: [2, 3, 96, 96]" }).waitFor();
    await editor.reload("2, 3, 96, 96");
    await graph.summary.filter({ hasText: "shapes for images: [2, 3, 96, 96]" }).waitFor();
    assert.equal(await field.inputValue(), "torch.rand(2, 3, 96, 96)");
    await editor.closeEditor("Graph of");
  });

  test("an expectation that does not hold is underlined until it is mended", async () => {
    await editor.focusEditor();
    await editor.goInto("classifier.py", "class Classifier");
    await editor.page.keyboard.press("Home");
    await editor.page.keyboard.type("# fx: expect(parameters < 1k)\n");
    await editor.underlined(["parameters < 1k"]);
    const card = await editor.hover("# fx: expect", "parameters < 1k", "does not hold");
    assert.match(card, /The largest submodule is `blocks` \(Sequential\)/);
    await editor.leave();
    await editor.save();
    await editor.goInto("classifier.py", "1k)");
    await editor.page.keyboard.type("00");
    await editor.underlined([]);
  });
});
