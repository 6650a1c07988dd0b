// The features, through VS Code's own interface: ranges and edits can be compared exactly.
const assert = require("node:assert/strict");
const vscode = require("vscode");
const { open, ours, rangeOf, replace, underlined, until } = require("./host.cjs");

const ID = "fx-lsp.fx-lsp";

async function quickFix(document, failure, title) {
  const actions = await vscode.commands.executeCommand(
    "vscode.executeCodeActionProvider",
    document.uri,
    failure.range,
    "quickfix",
  );
  const fix = actions.find((action) => action.title.includes(title));
  assert.ok(fix, `no ${title} among: ${actions.map((action) => action.title).join(", ")}`);
  assert.ok(await vscode.workspace.applyEdit(fix.edit));
}

async function hover(document, text) {
  const found = await vscode.commands.executeCommand(
    "vscode.executeHoverProvider",
    document.uri,
    rangeOf(document, text).start,
  );
  return found.flatMap(({ contents }) => contents.map(({ value }) => value)).join("\n");
}

module.exports = {
  async "every command of the manifest is there once the server runs"() {
    const extension = vscode.extensions.getExtension(ID);
    await extension.activate();
    const wanted = extension.packageJSON.contributes.commands.map(({ command }) => command);
    const registered = await vscode.commands.getCommands(true);
    assert.deepEqual(
      wanted.filter((command) => !registered.includes(command)),
      [],
    );
  },

  async "a failure has its code, its exact range and its reason"() {
    const document = await open("rectify.py");
    const [failure] = await underlined(document, ["x.sum() > 0"]);
    assert.equal(failure.code?.value ?? failure.code, "control-flow");
    assert.match(failure.message, /depends on the values of an input/);
  },

  async "columns are right behind characters of two, three and four UTF-8 bytes"() {
    const document = await open("rectify.py");
    await replace(document, "if x.sum()", "if 'é€😋' and x.sum()");
    await underlined(document, ["x.sum() > 0"]);
    await replace(document, "'é€😋' and ", "");
    await underlined(document, ["x.sum() > 0"]);
  },

  async "a failure in another file has the way that leads to it"() {
    const encoder = await open("encoder.py");
    const padding = await open("padding.py");
    const [failure] = await underlined(padding, ["missing > 0"]);
    const way = failure.relatedInformation.filter(({ location }) => location.uri.path === encoder.uri.path);
    assert.deepEqual(
      way.map(({ location }) => encoder.getText(location.range)),
      ["pad_to_multiple(x, self.window)"],
    );
    assert.deepEqual(ours(encoder), []);
  },

  async "its fix goes into the model's file"() {
    const encoder = await open("encoder.py");
    const padding = await open("padding.py");
    const [failure] = await underlined(padding, ["missing > 0"]);
    await quickFix(padding, failure, "torch.fx.wrap");
    await underlined(padding, []);
    assert.match(encoder.getText(), /^torch\.fx\.wrap\("pad_to_multiple"\)$/m);
    assert.match(encoder.getText(), /^import torch\.fx$/m);
  },

  async "the quick fix imports nothing twice"() {
    const document = await open("normalize.py");
    const [failure] = await underlined(document, ["len(x)"]);
    await quickFix(document, failure, "torch.fx.wrap");
    await underlined(document, []);
    assert.equal(document.getText().match(/^import torch\.fx$/gm).length, 1);
    assert.match(document.getText(), /^torch\.fx\.wrap\("len"\)$/m);
  },

  async "hover on a model is its generated forward, and a setting turns it off at once"() {
    const document = await open("classifier.py");
    const settings = vscode.workspace.getConfiguration("fxLsp");
    await until("the generated forward", async () =>
      (await hover(document, "Classifier(nn")).includes("def forward(self, images"),
    );
    await settings.update("hover", false, vscode.ConfigurationTarget.Workspace);
    await until("no hover", async () => !(await hover(document, "Classifier(nn")).includes("def forward"));
    await settings.update("hover", undefined, vscode.ConfigurationTarget.Workspace);
    await until("the hover again", async () => (await hover(document, "Classifier(nn")).includes("def forward"));
  },

  async "restarting the tracing process leaves the results right"() {
    const document = await open("heads.py");
    const branches = ["x.shape[-2] > self.size", "x.dim() == 4", "x.mean() >= 0", "height == width"];
    await underlined(document, branches);
    await vscode.commands.executeCommand("fxLsp.restartAgent");
    await replace(document, "x.dim() == 4", "x.dim() == 5");
    await underlined(document, branches.with(1, "x.dim() == 5"));
  },
};
