// The generated forward beside the source, in a real VS Code.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { GraphPage } from "./graph_page.mjs";
import { suite } from "./suite.mjs";
import { until } from "./until.mjs";

suite("forward", { viewport: { width: 1500, height: 900 } }, (editor) => {
  before(() => editor.open("classifier.py"));

  const FORWARD_TAB = ".tab:has-text('forward.py')";

  /** Puts the cursor of the source into the first `text`. */
  async function goInto(text) {
    await editor.focusEditor();
    await editor.goInto("classifier.py", text);
  }

  test("a lens above a model says what came of it", async () => {
    await editor.lens("21 nodes");
    assert.match(await (await editor.lens("21 nodes")).innerText(), /✓ traces · 21 nodes · 18 k parameters/);
  });

  test("a click on it opens the generated forward beside the source", async () => {
    await editor.clickLens("21 nodes", editor.page.locator(FORWARD_TAB));
    await editor.line("stem = self.stem(images)");
  });

  test("it is Python, and can't be edited", async () => {
    await editor.page.keyboard.press("Control+2");
    await editor.page.locator(".statusbar-item", { hasText: "Python" }).waitFor();
    await editor.page.keyboard.type("x");
    await editor.page.locator(".monaco-editor-overlaymessage", { hasText: "read-only" }).waitFor();
    assert.equal(await editor.page.locator(`${FORWARD_TAB}.dirty`).count(), 0);
  });

  test("the cursor in the source marks the line of the forward", async () => {
    await goInto("features.mean");
    await editor.marked(["mean = relu_6.mean(dim = (2, 3)); relu_6 = None"]); // nodes come after the text
  });

  test("a line of a module that runs three times marks all three", async () => {
    await goInto("self.second(torch");
    await until("three marks", async () => (await editor.marks()).length === 3);
  });

  test("the cursor in the forward marks the expression of the source, and brings it into view", async () => {
    await editor.page.keyboard.press("Control+2");
    await editor.page.keyboard.press("Control+Home");
    await editor.page.keyboard.press("ArrowDown"); // from the signature to the first node's line
    await editor.marked(["self.stem(images)"]);
  });

  test("a model is copied as a module of its own", async () => {
    await editor.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await goInto("class Classifier");
    await editor.command("fx-lsp: Copy Generated Module");
    await editor.page.locator(".notification-toast", { hasText: "generated forward of Classifier" }).waitFor();
    const copied = await editor.page.evaluate(() => window.navigator.clipboard.readText());
    assert.match(copied, /^class ClassifierTraced\(torch\.nn\.Module\):$/m);
    assert.match(copied, /^ {8}self\.stem = source\.stem$/m);
    assert.match(copied, /^ {8}stem = self\.stem\(images\)/m);
  });

  test("the forward follows an edit", async () => {
    await goInto("features.mean");
    await editor.page.keyboard.press("End");
    await editor.page.keyboard.type(" * 3");
    await editor.line("mul = mean * 3");
  });

  test("it can be compared with what it was before", async () => {
    await editor.command("fx-lsp: Compare Generated Forward With");
    await editor.answer("As of");
    await editor.page.locator(".tab.active", { hasText: "↔" }).waitFor();
    await editor.page.locator(".line-insert, .char-insert").first().waitFor();
    await editor.closeEditor("↔");
  });

  test("it can be compared with another target's of the file", async () => {
    await goInto("class Classifier");
    await editor.command("fx-lsp: Compare Generated Forward With");
    await editor.answer("Another model or function");
    await editor.answer("ResidualBlock");
    await editor.page.locator(".tab.active", { hasText: "↔" }).waitFor();
    await editor.closeEditor("↔");
  });

  test("the command opens the forward of what the cursor is in", async () => {
    await editor.openFile("classifier.py");
    await goInto("self.head = ");
    await editor.command("fx-lsp: Open Generated Forward");
    await editor.line("self.stem(images)");
  });

  test("a forward that is opened marks what the cursor is in, before it moves", async () => {
    await editor.closeEditor("forward.py");
    await goInto("features.mean");
    await editor.command("fx-lsp: Open Generated Forward");
    await editor.marked(["mean = relu_6.mean(dim = (2, 3)); relu_6 = None"]);
  });

  test("its commands work also after its source is closed", async () => {
    const graph = new GraphPage(editor.page);
    await editor.focusEditor();
    await editor.revert();
    await editor.closeEditor("classifier.py");
    await editor.page.locator(`${FORWARD_TAB}.active`).click();
    await editor.command("fx-lsp: Show Graph");
    assert.match(await graph.ready(), /^21 nodes/);
    assert.equal(await editor.page.locator(".tab", { hasText: /^classifier\.py/ }).count(), 0);
  });
});
