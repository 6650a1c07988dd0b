// The graph beside the source, in a real VS Code.
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { GraphPage } from "./graph_page.mjs";
import { suite } from "./suite.mjs";
import { until } from "./until.mjs";

suite("graph", { viewport: { width: 1500, height: 900 } }, (editor) => {
  let graph;

  before(async () => {
    graph = new GraphPage(editor.page);
    await editor.open("classifier.py");
  });

  const cursor = () => editor.page.locator("#status\\.editor\\.selection");

  /** Puts the cursor of the source into the first `text`. */
  async function goInto(text) {
    await editor.focusEditor();
    await editor.goInto("classifier.py", text);
  }

  async function atLine(text) {
    const line =
      editor
        .onDisk("classifier.py")
        .split("\n")
        .findIndex((each) => each.includes(text)) + 1;
    await cursor()
      .filter({ hasText: `Ln ${line},` })
      .waitFor();
  }

  test("a click on the second lens shows the graph", async () => {
    await editor.lens("21 nodes");
    await editor.clickLens("graph", editor.page.locator(".tab", { hasText: "Graph of" }), 1);
    assert.match(await graph.ready(), /^21 nodes · 17,988 parameters/);
  });

  test("the arrow keys walk through it, open and close its modules", async () => {
    await graph.press("Home");
    await graph.selected(/^images, placeholder/);
    await graph.find("blocks.0.first");
    await graph.press("ArrowLeft");
    await graph.selected(/^blocks\.0, ResidualBlock, 5 nodes/, "true");
    await graph.press("ArrowLeft");
    await graph.selected(/^blocks\.0, /, "false");
    await graph.press("ArrowRight", "ArrowRight");
    await graph.selected(/^blocks_0_first, call_module, Conv2d/);
  });

  test("the search counts what it finds and goes there", async () => {
    await graph.search.fill("conv2d");
    await graph.hits.filter({ hasText: "7 hits" }).waitFor();
    await graph.search.press("Enter");
    await graph.search.press("Enter");
    await graph.hits.filter({ hasText: "2 of 7 hits" }).waitFor();
    await graph.selected(/^blocks_0_first, /);
  });

  test("a click on a node leads to its source", async () => {
    await graph.find("stem");
    await graph.clickMiddle();
    await atLine("self.stem(images)");
  });

  test("the Enter key does, too", async () => {
    await graph.find("mean");
    await graph.press("Enter");
    await atLine("features.mean");
  });

  test("everything opens and closes at once", async () => {
    await graph.button("Close all").click();
    await graph.press("End", "ArrowUp", "Home", "ArrowDown", "ArrowDown", "ArrowDown");
    await graph.selected(/blocks/, "false");
    await graph.button("Open all").click();
    await graph.press("ArrowDown");
    await graph.selected(/blocks/);
  });

  test("the table has every node, and leads to its source", async () => {
    await graph.tab("Table").click();
    const table = graph.frame.getByRole("grid", { name: "Nodes in the order of execution" });
    const rows = Number(await table.getAttribute("aria-rowcount")) - 1;
    assert.match(await graph.summary.innerText(), new RegExp(`^${rows} nodes`));
    await table.getByRole("row").filter({ hasText: "stem" }).first().click();
    await atLine("self.stem(images)");
  });

  test("the execution order lists modules with the parameters that they use first", async () => {
    await graph.tab("Execution order").click();
    const table = graph.frame.getByRole("grid", { name: "Modules and parameters in the order of their first use" });
    const row = (text) => table.getByRole("row").filter({ hasText: text });
    const index = async (text) => Number(await row(text).first().getAttribute("aria-rowindex"));
    assert.equal(await index(/\(root\)\s*Classifier/), 2);
    const stem = await index("stem.weight");
    await table.press("End"); // rows that are out of sight are not in the page
    assert.ok(2 < stem && stem < (await index("head.weight")));
    await graph.tab("Graph").click();
  });

  for (const [format, expected] of [
    ["svg", /<title>Graph of .*<polyline/s],
    ["dot", /^digraph .*"stem" -> "relu"/s],
  ]) {
    test(`it is saved as ${format}`, async () => {
      await graph.button(format.toUpperCase()).click();
      const path = join(editor.workspace, `classifier.${format}`);
      const input = editor.page.locator(".quick-input-widget input[type=text]");
      await until("the name that is proposed", async () => (await input.inputValue()) === path);
      await editor.page.keyboard.press("Enter");
      await until("the file", () => existsSync(path) && expected.test(readFileSync(path, "utf8")));
    });
  }

  test("the graph follows an edit of the source, and rows that stay keep their elements", async () => {
    const before_ = await graph.ready();
    const row = await graph.frame.locator("#table-grid [data-index='0']").elementHandle();
    await goInto("features.mean");
    await editor.page.keyboard.press("End");
    await editor.page.keyboard.type(" * 5");
    await until("another graph", async () => (await graph.ready()).split(" ")[0] !== before_.split(" ")[0]);
    // Else a click would be lost whose pointer goes down before a graph comes, and up after it.
    assert.ok(await row.evaluate((element) => element.isConnected));
  });

  test("of a model that fails, the nodes that fail are marked and lead to the failing expression", async () => {
    await goInto("features.mean");
    await editor.page.keyboard.press("End");
    await editor.page.keyboard.type(" * len(features)");
    await graph.frame.getByRole("heading", { name: "✗ 1 place" }).waitFor();
    await graph.ready();
    await graph.tab("Table").click();
    const rows = graph.frame.getByRole("grid", { name: "Nodes in the order of execution" }).getByRole("row");
    const failing = rows.filter({ hasText: "✗ len" });
    await failing.waitFor();
    await editor.focusEditor();
    await editor.goTo(1, 1);
    await failing.click();
    await atLine("features.mean");
    await graph.tab("Graph").click();
  });

  test("another input is taken also while the source is closed, and stays when the window is loaded anew", async () => {
    const shapes = graph.summary.filter({ hasText: "shapes for images: [2, 3, 64, 64]" });
    await editor.focusEditor();
    await editor.revert();
    await graph.summary.filter({ hasText: /^21 nodes/ }).waitFor();
    await editor.closeEditor("classifier.py");
    const field = graph.frame.getByLabel("Input", { exact: true });
    await field.fill("torch.rand(2, 3, 64, 64)");
    await field.press("Enter");
    await shapes.waitFor();
    await editor.reload("2, 3, 64, 64");
    await shapes.waitFor();
    assert.equal(await editor.page.locator(".tab", { hasText: "classifier.py" }).count(), 0);
  });

  test("a graph whose source is gone says so", async () => {
    rmSync(join(editor.workspace, "classifier.py"));
    await editor.reload("2, 3, 64, 64");
    await graph.frame.locator("#missing").filter({ hasText: "classifier.py is gone." }).waitFor();
  });
});
