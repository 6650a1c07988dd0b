// The packaged extension in a real VS Code, over a copy of examples/models: what a person sees and does.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { startBed } from "./bed.mjs";
import { SHOTS, TORCH_PYTHON } from "./paths.mjs";
import { processesBelow, signal } from "./processes.mjs";
import { until } from "./until.mjs";
import { Workbench } from "./workbench.mjs";

let bed, editor;

before(async () => {
  mkdirSync(SHOTS, { recursive: true });
  bed = await startBed();
  editor = new Workbench(bed);
  await editor.open("rectify.py");
});

after(() => bed?.stop());

afterEach((t) => shot(t.name));

const shot = (name) => bed.page.screenshot({ path: join(SHOTS, `${name.replace(/\W+/g, "-")}.png`) });
const onDisk = (file) => readFileSync(join(bed.workspace, file), "utf8");
const servers = () => processesBelow(bed.pid).filter(({ command }) => command.includes("launch.py"));

/** Puts the cursor into the first `text` of `file`. */
async function goInto(file, text) {
  const lines = onDisk(file).split("\n");
  const index = lines.findIndex((line) => line.includes(text));
  await editor.goTo(index + 1, lines[index].indexOf(text) + 2);
}

test("the failing expression is underlined, and nothing else", async () => {
  await editor.underlined(["x.sum() > 0"], 120_000);
});

test("resting on it shows the reason", async () => {
  const card = await editor.hover("if x.sum() > 0", "x.sum()", "fx-lsp");
  assert.match(card, /`?x\.sum\(\) > 0`? depends on the values of an input.*fx-lsp ?control-flow/);
  await shot("hover-on-a-failure");
});

test("its code leads to the page of the rule", async () => {
  await bed.page.locator(".monaco-hover:not(.hidden) a", { hasText: "control-flow" }).first().click();
  await bed.page.locator(".tab.active", { hasText: "control-flow.md" }).waitFor({ timeout: 20_000 });
  await editor.leave();
  await editor.openFile("rectify.py");
});

test("the problems panel lists it with its place", async () => {
  const rows = await editor.problems("fx-lsp");
  assert.match(rows.join("\n"), /depends on the values of an input.* fx-lsp control-flow \[Ln 9, Col 8\]/);
});

test("resting on a model that traces shows its generated forward", async () => {
  await editor.openFile("classifier.py");
  const card = await editor.hover("class Classifier", "Classifier", "def forward");
  assert.match(card, /\d+ nodes/);
  assert.match(card, /def forward\(self, images/);
  await shot("hover-on-a-model");
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
  const original = onDisk("normalize.py");
  await goInto("normalize.py", "len(x)");
  const wrap = await editor.quickFix('torch.fx.wrap("len")');
  await shot("quick-fix-menu");
  await editor.click(wrap);
  await editor.underlined([]);
  assert.equal(onDisk("normalize.py"), original, "only the buffer has changed");
  await editor.save();
  assert.match(onDisk("normalize.py"), /^torch\.fx\.wrap\("len"\)$/m);
});

test("a model's failure in another file is shown there, and fixed in the model's", async () => {
  await editor.openFile("encoder.py");
  await editor.openFile("padding.py");
  await editor.underlined(["missing > 0"]);
  await goInto("padding.py", "missing > 0");
  await editor.click(await editor.quickFix('torch.fx.wrap("pad_to_multiple")'));
  await editor.underlined([]);
  await editor.openFile("encoder.py");
  await editor.save();
  assert.match(onDisk("encoder.py"), /^torch\.fx\.wrap\("pad_to_multiple"\)$/m);
});

test("an edit moves the squiggle with the expression, without saving", async () => {
  await editor.openFile("rectify.py");
  await editor.underlined(["x.sum() > 0"]);
  await goInto("rectify.py", "x.sum()");
  await bed.page.keyboard.press("Home");
  await bed.page.keyboard.press("Control+ArrowRight");
  await bed.page.keyboard.type(" 'é😋' and");
  await editor.underlined(["x.sum() > 0"]);
  await until("the edited line", () => bed.page.locator(".view-line", { hasText: "é😋" }).count());
});

test("the restart command brings another server, and the same squiggle", async () => {
  const [old, ...others] = servers();
  assert.deepEqual(others, []);
  await editor.command("fx-lsp: Restart Language Server");
  await until("another server", () => servers().length === 1 && servers()[0].pid !== old.pid);
  await editor.underlined(["x.sum() > 0"], 60_000);
});

test("a server that is killed comes back by itself", async () => {
  const [{ pid }] = servers();
  signal(pid, "SIGKILL");
  await until("another server", () => servers().length === 1 && servers()[0].pid !== pid);
  await goInto("rectify.py", "# Which way"); // a comment, so that the text parses
  await bed.page.keyboard.type("_");
  await editor.underlined(["x.sum() > 0"], 60_000);
});

test("a Python that the server can't run on is named, and a better one is taken at once", async () => {
  bed.setMachineSettings({ "fxLsp.interpreter": [TORCH_PYTHON], "fxLsp.server.python": ["/nowhere/python"] });
  const message = bed.page.locator(".notification-toast", { hasText: "found no Python 3.10 or newer" });
  await message.locator(".monaco-button", { hasText: "Open Settings" }).waitFor();
  await until("the server's end", () => servers().length === 0);
  await shot("no-python");
  bed.setMachineSettings({ "fxLsp.interpreter": [TORCH_PYTHON], "fxLsp.server.python": [TORCH_PYTHON] });
  await until("a server on it", () => servers().some(({ command }) => command.startsWith(TORCH_PYTHON)));
  await editor.underlined(["x.sum() > 0"], 60_000);
});

test("the log can be read", async () => {
  await editor.command("fx-lsp: Show Logs");
  await bed.page
    .locator(".panel .view-line", { hasText: /Starting\sthe\sserver/ })
    .first()
    .waitFor();
});
