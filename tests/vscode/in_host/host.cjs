// What the tests inside the extension host share.
const assert = require("node:assert/strict");
const vscode = require("vscode");

async function until(what, look, limit = 120_000) {
  for (const end = Date.now() + limit; Date.now() < end; await new Promise((wake) => setTimeout(wake, 50))) {
    const seen = await look();
    if (seen) {
      return seen;
    }
  }
  throw new Error(`${what} did not come within ${limit} ms`);
}

async function open(name) {
  const uri = vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, name);
  const document = await vscode.workspace.openTextDocument(uri);
  await vscode.window.showTextDocument(document);
  return document;
}

const ours = (document) => vscode.languages.getDiagnostics(document.uri).filter(({ source }) => source === "fx-lsp");

/** Our diagnostics of a document, as soon as exactly these texts are underlined. */
async function underlined(document, texts) {
  const seen = () => ours(document).map(({ range }) => document.getText(range));
  await until(`exactly ${texts.join(", ")}`, () => seen().sort().join() === [...texts].sort().join());
  return ours(document);
}

function rangeOf(document, text) {
  const start = document.getText().indexOf(text);
  return new vscode.Range(document.positionAt(start), document.positionAt(start + text.length));
}

async function replace(document, old, text) {
  const edit = new vscode.WorkspaceEdit();
  edit.replace(document.uri, rangeOf(document, old), text);
  assert.ok(await vscode.workspace.applyEdit(edit));
}

/** What VS Code calls: runs every test, and reports each in one line of the console. Rejects if one failed. */
const runner = (tests) => async () => {
  let failed = 0;
  for (const [name, test] of Object.entries(tests)) {
    let error = null;
    try {
      await test();
    } catch (reason) {
      error = String(reason.stack ?? reason);
      failed++;
    }
    console.log(`RESULT ${JSON.stringify({ name, error })}`);
  }
  if (failed > 0) {
    throw new Error(`${failed} failed`);
  }
};

module.exports = { open, ours, rangeOf, replace, runner, underlined, until };
