import assert from "node:assert/strict";
import { test } from "node:test";
import type { Uri } from "vscode";
import type { Python } from "../src/python";
import { Selections, type Workspace } from "../src/selections";

function folder(name: string): { uri: Uri } {
  return { uri: { toString: () => `file:///${name}` } as unknown as Uri };
}

/** Interpreters that are selected for folders; `undefined` is the window without one. */
function selected(byFolder: Record<string, Python>) {
  return {
    selected: (uri: Uri | undefined) => Promise.resolve(byFolder[String(uri)] ?? []),
    onDidChange: () => ({ dispose: () => undefined }),
  };
}

function workspace(names: string[], isTrusted = true): Workspace {
  return { isTrusted, workspaceFolders: names.map(folder) };
}

test("each folder's selection is sent, even an empty one, and that of the first is also for files in no folder", async () => {
  const selections = new Selections(selected({ "file:///one": ["/one/python"] }), workspace(["one", "two"]));
  assert.ok(await selections.renew());
  assert.deepEqual(selections.all, [
    { folder: null, interpreter: ["/one/python"] },
    { folder: "file:///one", interpreter: ["/one/python"] },
    { folder: "file:///two", interpreter: [] },
  ]);
  assert.deepEqual(selections.general, ["/one/python"]);
});

test("a window without a folder has one selection", async () => {
  const selections = new Selections(selected({ undefined: ["/any/python"] }), {
    isTrusted: true,
    workspaceFolders: undefined,
  });
  await selections.renew();
  assert.deepEqual(selections.all, [{ folder: null, interpreter: ["/any/python"] }]);
});

test("in a workspace that is not trusted nothing is selected, and what is comes with the trust", async () => {
  const place = { ...workspace(["one"], false) };
  const selections = new Selections(selected({ "file:///one": ["/one/python"] }), place);
  await selections.renew();
  assert.deepEqual(selections.general, []);
  place.isTrusted = true;
  await selections.renew();
  assert.deepEqual(selections.general, ["/one/python"]);
});

test("before anything was asked, nothing is known", () => {
  assert.deepEqual(new Selections(selected({}), workspace([])).general, []);
});

test("an answer that comes after a later one is dropped", async () => {
  const answers: ((python: Python) => void)[] = [];
  const slow = {
    selected: () => new Promise<Python>((resolve) => answers.push(resolve)),
    onDidChange: () => ({ dispose: () => undefined }),
  };
  const selections = new Selections(slow, { isTrusted: true, workspaceFolders: undefined });
  const [first, second] = [selections.renew(), selections.renew()];
  answers[1]?.(["/new/python"]);
  assert.equal(await second, true);
  answers[0]?.(["/old/python"]);
  assert.equal(await first, false);
  assert.deepEqual(selections.general, ["/new/python"]);
});
