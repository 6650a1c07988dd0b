// Which Python traces: one that is chosen while the window is open, and another one in each folder of a workspace.
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { emptyEnvironment, likeTorchPython } from "./environments.mjs";
import { agents, servers } from "./servers.mjs";
import { suite } from "./suite.mjs";
import { until } from "./until.mjs";

const BRANCH = "x.sum() > 0";

async function chooseIn(editor, python) {
  await editor.command("fx-lsp: Select Interpreter for Tracing");
  await editor.answer("Choose a Python for tracing");
  await editor.answerPath(python);
}

async function letFind(editor) {
  await editor.command("fx-lsp: Select Interpreter for Tracing");
  await editor.page.locator('.quick-input-widget input[placeholder*="/python"]').waitFor();
  await editor.answer("Let fx-lsp find one");
}

suite("interpreters", {}, (editor) => {
  before(async () => {
    await editor.open("rectify.py");
    await editor.underlined([BRANCH]);
  });

  const choose = (python) => chooseIn(editor, python);

  test("a Python that is chosen and has no PyTorch traces nothing, and the status says why", async () => {
    const running = servers(editor);
    const bare = emptyEnvironment(join(editor.workspace, "../bare"));
    await choose(bare);
    await until("its name in the settings", () => editor.workspaceSettings()["fxLsp.interpreter"]?.[0] === bare);
    await until("the status", async () => /no usable PyTorch/.test(await editor.languageStatus()));
    await editor.underlined([]);
    assert.deepEqual(servers(editor), running, "the server is the same");
  });

  test("one that has it traces at once", async () => {
    await choose(likeTorchPython(join(editor.workspace, "../other"))); // its folder is short enough to be listed whole
    await editor.underlined([BRANCH]);
    await until("the versions", async () => /torch \d.* Python 3/.test(await editor.languageStatus()));
  });

  test("it can be left to be found, also where the user's settings name one", async () => {
    await letFind(editor);
    await until("an empty setting", () => editor.workspaceSettings()["fxLsp.interpreter"]?.length === 0);
  });
});

suite("folders", { interpreter: [] }, (editor) => {
  test("each folder of a workspace is traced with the Python of its own environment", async () => {
    const names = ["one", "two"];
    const folders = names.map((name) => join(editor.workspace, "..", name));
    const pythons = folders.map((folder, index) => {
      mkdirSync(folder);
      cpSync(join(editor.workspace, "rectify.py"), join(folder, `rectify_${index}.py`));
      return likeTorchPython(join(folder, ".venv"));
    });
    await editor.openFolders(folders, "rectify_0.py");
    await editor.underlined([BRANCH]);
    await editor.openFile(join(folders[1], "rectify_1.py"));
    await editor.underlined([BRANCH]);
    const tracing = () => agents(editor).map(({ command }) => command.split(" ")[0]);
    await until("a tracing process on each", () => pythons.every((python) => tracing().includes(python)));
    assert.equal(servers(editor).length, 1);
  });

  test("a Python is chosen for the folder of the file that is edited", async () => {
    const [one, two] = ["one", "two"].map((name) => join(editor.workspace, "..", name, ".vscode/settings.json"));
    const bare = emptyEnvironment(join(editor.workspace, "../bare_for_two"));
    await chooseIn(editor, bare);
    await until("its name in the folder's settings", () => existsSync(two) && readFileSync(two, "utf8").includes(bare));
    await editor.underlined([]);
    await letFind(editor);
    await until("no name there", () => !readFileSync(two, "utf8").includes(bare));
    await editor.underlined([BRANCH]);
    assert.ok(!existsSync(one));
  });
});

suite("no folder", { interpreter: [] }, (editor) => {
  test("a Python is chosen for the user where no folder is open", async () => {
    await editor.open("rectify.py", { ew: "true" });
    await chooseIn(editor, emptyEnvironment(join(editor.workspace, "../bare_for_all")));
    await until("the status", async () => /no usable PyTorch/.test(await editor.languageStatus()));
    await chooseIn(editor, likeTorchPython(join(editor.workspace, "../other_for_all")));
    await editor.underlined([BRANCH]);
    await letFind(editor);
    const current = editor.page.locator('.quick-input-widget input[placeholder*="Current: "]');
    await until("no Python in the settings", async () => {
      await editor.command("fx-lsp: Select Interpreter for Tracing");
      await current.waitFor();
      const shown = await current.getAttribute("placeholder");
      await editor.page.keyboard.press("Escape");
      return shown.includes("found by fx-lsp");
    });
  });
});
