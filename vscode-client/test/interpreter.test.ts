import assert from "node:assert/strict";
import { test } from "node:test";
import type { Uri } from "vscode";
import { findInterpreters, type FindExtension } from "../src/interpreter";

const folder = { fsPath: "/models" } as unknown as Uri;

/** An installation in which the named extensions export these. */
function installed(exportsById: Record<string, unknown>): FindExtension {
  return (id) => (id in exportsById ? { activate: () => Promise.resolve(exportsById[id]) } : undefined);
}

function environments(executable: string | undefined, args?: string[]) {
  const listeners: (() => void)[] = [];
  return {
    listeners,
    getEnvironment: (scope: Uri) => {
      assert.equal(scope, folder);
      return Promise.resolve(executable && { execInfo: { run: { executable, args } } });
    },
    onDidChangeEnvironment: (listener: () => void) => listeners.push(listener),
  };
}

function python(executable: string | undefined) {
  const active = { path: "/venv" };
  return {
    environments: {
      getActiveEnvironmentPath: (scope: Uri) => {
        assert.equal(scope, folder);
        return active;
      },
      resolveEnvironment: (environment: unknown) => {
        assert.equal(environment, active);
        return Promise.resolve(executable && { executable: { uri: { fsPath: executable } } });
      },
      onDidChangeActiveEnvironmentPath: () => ({ dispose: () => undefined }),
    },
  };
}

const ENVIRONMENTS = "ms-python.vscode-python-envs";
const PYTHON = "ms-python.python";

test("with neither extension there is no selection, and it never changes", async () => {
  const interpreters = await findInterpreters(installed({}));
  assert.deepEqual(await interpreters.selected(folder), []);
  interpreters.onDidChange(() => assert.fail()).dispose();
});

test("Python Environments is asked before the Python extension, and its arguments are kept", async () => {
  const find = installed({ [ENVIRONMENTS]: environments("/conda", ["run", "python"]), [PYTHON]: python("/other") });
  assert.deepEqual(await (await findInterpreters(find)).selected(folder), ["/conda", "run", "python"]);
});

test("the Python extension answers where Python Environments exports nothing", async () => {
  const find = installed({ [ENVIRONMENTS]: undefined, [PYTHON]: python("/venv/bin/python") });
  assert.deepEqual(await (await findInterpreters(find)).selected(folder), ["/venv/bin/python"]);
});

test("an extension that fails to start is as good as none", async () => {
  const find: FindExtension = () => ({ activate: () => Promise.reject(new Error("broken")) });
  assert.deepEqual(await (await findInterpreters(find)).selected(folder), []);
});

test("nothing selected is an empty command", async () => {
  assert.deepEqual(
    await (await findInterpreters(installed({ [ENVIRONMENTS]: environments(undefined) }))).selected(folder),
    [],
  );
  assert.deepEqual(await (await findInterpreters(installed({ [PYTHON]: python(undefined) }))).selected(folder), []);
});

test("a change of the selection reaches the listener", async () => {
  const api = environments("/venv/bin/python");
  let changes = 0;
  (await findInterpreters(installed({ [ENVIRONMENTS]: api }))).onDidChange(() => changes++);
  api.listeners.forEach((listener) => {
    listener();
  });
  assert.equal(changes, 1);
});

test("an extension that fails to tell is as good as one in which nothing is selected", async () => {
  const broken = { ...environments(undefined), getEnvironment: () => Promise.reject(new Error("broken")) };
  assert.deepEqual(await (await findInterpreters(installed({ [ENVIRONMENTS]: broken }))).selected(folder), []);
});

test("an extension that comes later is asked from then on, and another look at it changes nothing", async () => {
  const there: Record<string, unknown> = {};
  const interpreters = await findInterpreters((id) => installed(there)(id));
  let changes = 0;
  interpreters.onDidChange(() => changes++);
  there[PYTHON] = python("/venv/bin/python");
  await interpreters.look();
  assert.deepEqual(await interpreters.selected(folder), ["/venv/bin/python"]);
  assert.equal(changes, 1);
  await interpreters.look();
  assert.equal(changes, 1);
});

test("an extension that is gone is not listened to any longer", async () => {
  let isFollowed = true;
  const api = { ...environments("/venv"), onDidChangeEnvironment: () => ({ dispose: () => (isFollowed = false) }) };
  let there: Record<string, unknown> = { [ENVIRONMENTS]: api };
  const interpreters = await findInterpreters((id) => installed(there)(id));
  there = {};
  await interpreters.look();
  assert.equal(isFollowed, false);
  assert.deepEqual(await interpreters.selected(folder), []);
});
