import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { candidates, firstUsable, versionOf } from "../src/python";

test("the Python that the user chose is the only candidate", () => {
  assert.deepEqual(candidates(["/opt/py", "-X", "dev"], ["/venv/bin/python"], "linux"), [["/opt/py", "-X", "dev"]]);
});

test("the selected interpreter goes before those on the PATH", () => {
  assert.deepEqual(candidates([], ["/venv/bin/python"], "linux"), [["/venv/bin/python"], ["python3"], ["python"]]);
});

test("without a selection the PATH decides, with Windows's launcher first where there is one", () => {
  assert.deepEqual(candidates([], [], "darwin"), [["python3"], ["python"]]);
  assert.deepEqual(candidates([], [], "win32"), [["py", "-3"], ["python"]]);
});

test("a Python that runs says its version", async () => {
  const [major, minor] = await versionOf(["python3"]);
  assert.equal(major, 3);
  assert.ok(Number.isInteger(minor));
});

test("arguments of a Python come before the question", async () => {
  assert.deepEqual(await versionOf(["sh", "-c", "echo 3 12"]), [3, 12]);
});

test("one that does not start, one that is too old and one that is no Python are passed over, and each is named", async () => {
  const old = join(mkdtempSync(join(tmpdir(), "fx-lsp-")), "old-python");
  writeFileSync(old, "#!/bin/sh\necho 3 8\n", { mode: 0o755 });
  const notes: string[] = [];
  const found = await firstUsable([["/nowhere/python"], [old], ["echo", "hello"], ["python3"]], (note) =>
    notes.push(note),
  );
  assert.deepEqual(found, ["python3"]);
  assert.equal(notes.length, 3);
  assert.match(notes[0] ?? "", /^\/nowhere\/python could not be started: .*ENOENT/);
  assert.match(notes[1] ?? "", /is Python 3\.8; the language server needs 3\.10 or newer\./);
  assert.match(notes[2] ?? "", /^echo hello /);
});

test("none at all is undefined", async () => {
  assert.equal(await firstUsable([["/nowhere/python"]], () => undefined), undefined);
});
