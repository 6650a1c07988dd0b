// The features, through VS Code's own interface: ranges and edits can be compared exactly.
const assert = require("node:assert/strict");
const vscode = require("vscode");
const { open, ours, rangeOf, replace, underlined, until } = require("./host.cjs");

const ID = "fx-lsp.fx-lsp";

const quickFix = (document, failure, title) => codeAction(document, failure.range, title, "quickfix");

async function codeAction(document, range, title, kind) {
  const action = await until(title, async () => {
    const command = "vscode.executeCodeActionProvider";
    const actions = await vscode.commands.executeCommand(command, document.uri, range, kind);
    return actions.find((found) => found.title.includes(title));
  });
  assert.ok(await vscode.workspace.applyEdit(action.edit));
}

async function restore(document, text) {
  const edit = new vscode.WorkspaceEdit();
  const end = document.positionAt(document.getText().length);
  edit.replace(document.uri, new vscode.Range(new vscode.Position(0, 0), end), text);
  assert.ok(await vscode.workspace.applyEdit(edit));
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

  async "a class is traced with what a comment says, and skipped"() {
    const document = await open("classifier.py");
    const head = rangeOf(document, "class Classifier");
    const before = document.getText();
    await codeAction(document, head, "Trace this class with…", "refactor.rewrite");
    assert.match(document.getText(), /^# fx: trace\(.*\)\nclass Classifier/m);
    await codeAction(document, rangeOf(document, "class Classifier"), "Skip this class", "refactor.rewrite");
    assert.match(document.getText(), /^# fx: skip\nclass Classifier/m);
    await restore(document, before);
  },

  async "a rule is ignored where its problem is"() {
    const document = await open("rectify.py");
    const before = document.getText();
    const [failure] = await underlined(document, ["x.sum() > 0"]);
    await codeAction(document, failure.range, "Ignore this rule here", "quickfix");
    await underlined(document, []);
    assert.match(document.getText(), /if x\.sum\(\) > 0: {2}# fx: ignore\[control-flow\]$/m);
    await restore(document, before);
    await underlined(document, ["x.sum() > 0"]);
  },

  async "a selected expression becomes a function that is recorded"() {
    const document = await open("rectify.py");
    const before = document.getText();
    await codeAction(document, rangeOf(document, "torch.relu(x)"), "Wrap the selected expression", "refactor.extract");
    assert.match(document.getText(), /^fx\.wrap\("_rectify_result"\)$/m);
    assert.match(document.getText(), /return _rectify_result\(x\)$/m);
    await restore(document, before);
  },

  async "a file is traced from scratch by a command"() {
    const document = await open("rectify.py");
    await underlined(document, ["x.sum() > 0"]);
    await vscode.commands.executeCommand("fxLsp.traceFile");
    await underlined(document, ["x.sum() > 0"]);
  },

  async "problems of a notebook are in their cell, and follow its edits"() {
    const uri = vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, "gate.ipynb");
    const notebook = await vscode.workspace.openNotebookDocument(uri);
    await vscode.window.showNotebookDocument(notebook);
    const cells = notebook.getCells().map((cell) => cell.document);
    const [model, helper] = ["class Gate", "def open_or_shut"].map((text) =>
      cells.find((document) => document.getText().includes(text)),
    );
    const [failure] = await underlined(helper, ["x.mean() > 0"]);
    assert.equal(failure.relatedInformation[0].location.uri.toString(), model.uri.toString());
    assert.match(await hover(model, "Gate(nn"), /can't be traced/);
    await replace(helper, "x.mean() > 0", "x.dim() == 2");
    await underlined(helper, ["x.dim() == 2"]);
    await codeAction(helper, ours(helper)[0].range, "Ignore this rule here", "quickfix");
    await underlined(helper, []);
    assert.match(helper.getText(), /^%%time\n[^]*if x\.dim\(\) == 2: {2}# fx: ignore\[control-flow\]$/m);
  },

  async "restarting the tracing process leaves the results right"() {
    const document = await open("heads.py");
    const certain = ["x.shape[-2] > self.size", "x.dim() == 4", "x.mean() >= 0", "height == width"];
    const branches = [...certain, "height >= self.smallest"];
    await underlined(document, branches);
    await vscode.commands.executeCommand("fxLsp.restartAgent");
    await replace(document, "x.dim() == 4", "x.dim() == 5");
    await underlined(document, branches.with(1, "x.dim() == 5"));
  },
};
