// The interpreter that is selected in the Python extension is the one that traces.
const assert = require("node:assert/strict");
const vscode = require("vscode");
const { open, ours, underlined } = require("./host.cjs");

module.exports = {
  async "an interpreter that does not exist traces nothing, and the server runs all the same"() {
    await vscode.extensions.getExtension("fx-lsp.fx-lsp").activate();
    const document = await open("rectify.py");
    await vscode.commands.executeCommand("fxLsp.restartAgent");
    assert.deepEqual(ours(document), []);
  },

  async "selecting one with PyTorch starts to trace"() {
    await vscode.commands.executeCommand("test.selectPython", process.env.FX_LSP_PYTHON);
    await underlined(await open("rectify.py"), ["x.sum() > 0"]);
  },

  async "a server that starts later is told the selection"() {
    const document = await open("rectify.py");
    await vscode.commands.executeCommand("fxLsp.restart");
    await underlined(document, ["x.sum() > 0"]);
  },
};
