import assert from "node:assert/strict";
import { test } from "node:test";
import { changeToClear, levelToSet } from "../src/interpreter_setting";

const A = ["/a/python"];
const B = ["/b/python"];

test("a window without a folder keeps a chosen Python in the user's settings", () => {
  assert.equal(levelToSet(0, false), "user");
});

test("a window with one folder keeps it in the workspace's settings, wherever the edited file is", () => {
  assert.equal(levelToSet(1, true), "workspace");
  assert.equal(levelToSet(1, false), "workspace");
});

test("a window with several keeps it in the folder of the edited file, else in the workspace's settings", () => {
  assert.equal(levelToSet(3, true), "folder");
  assert.equal(levelToSet(3, false), "workspace");
});

test("where no level names a Python, nothing is to be changed", () => {
  assert.equal(changeToClear({}, 1), undefined);
});

test("the only value is removed, on the level that has it", () => {
  assert.deepEqual(changeToClear({ globalValue: A }, 0), { level: "user", value: undefined });
  assert.deepEqual(changeToClear({ globalValue: A }, 1), { level: "user", value: undefined });
  assert.deepEqual(changeToClear({ workspaceValue: A }, 2), { level: "workspace", value: undefined });
  assert.deepEqual(changeToClear({ workspaceFolderValue: A }, 2), { level: "folder", value: undefined });
});

test("a value that covers another one is made empty, or the other one would hold", () => {
  assert.deepEqual(changeToClear({ globalValue: A, workspaceValue: B }, 1), { level: "workspace", value: [] });
  assert.deepEqual(changeToClear({ globalValue: A, workspaceFolderValue: B }, 2), { level: "folder", value: [] });
});

test("one that covers only an empty one is removed", () => {
  assert.deepEqual(changeToClear({ globalValue: [], workspaceValue: B }, 1), { level: "workspace", value: undefined });
});

test("the settings of a window's only folder count once", () => {
  const values = { workspaceValue: A, workspaceFolderValue: A };
  assert.deepEqual(changeToClear(values, 1), { level: "workspace", value: undefined });
});
