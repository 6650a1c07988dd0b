import assert from "node:assert/strict";
import { test } from "node:test";
import { present, type Status } from "../src/status";

const versions = { torch: "2.13.0", python: "3.11.7" };

test("a working agent shows what it works with", () => {
  assert.deepEqual(present({ phase: "ready", ...versions }), {
    text: "torch 2.13.0, Python 3.11.7",
    detail: "",
    busy: false,
    severity: 0,
  });
});

test("versions that are not known yet are left out", () => {
  assert.equal(present({ phase: "ready", python: "3.11.7", torch: null }).text, "Python 3.11.7");
  assert.equal(present({ phase: "ready" }).text, "fx-lsp");
});

test("starting and tracing are busy, nothing else is", () => {
  const phases: Status["phase"][] = ["starting", "ready", "busy", "no-torch", "failed", "stopped"];
  assert.deepEqual(phases.filter((phase) => present({ phase }).busy), ["starting", "busy"]);
});

test("what needs the user's hand stands out, with the server's sentence", () => {
  const message = "No module named torch in /usr/bin/python3.";
  assert.deepEqual(present({ phase: "no-torch", message, python: "3.11.7" }), {
    text: "fx-lsp: no usable torch",
    detail: message,
    busy: false,
    severity: 1,
  });
  assert.equal(present({ phase: "failed" }).severity, 2);
});
