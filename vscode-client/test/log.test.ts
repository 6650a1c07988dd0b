import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "../src/log";

test("a line of the server's log keeps its level", () => {
  assert.deepEqual(parse("WARNING fx_lsp.server.session: no interpreter"), {
    level: "warn",
    text: "fx_lsp.server.session: no interpreter",
  });
  assert.deepEqual(parse("CRITICAL pygls: broken"), { level: "error", text: "pygls: broken" });
});

test("any other line is passed on whole", () => {
  for (const line of ["Traceback (most recent call last):", "EPOCH 1", "", "INFO"]) {
    assert.deepEqual(parse(line), { level: "info", text: line });
  }
});
