import assert from "node:assert/strict";
import { test } from "node:test";
import { appearance, type Status } from "../src/status";

const phases: Status["phase"][] = ["starting", "ready", "busy", "no-torch", "failed", "stopped"];

test("the server's message is the detail", () => {
  const message = "torch 2.13.0 · Python 3.11.7";
  assert.deepEqual(appearance({ phase: "ready", message }, true), {
    text: "fx-lsp: ready",
    detail: message,
    busy: false,
    severity: 0,
  });
});

test("starting and tracing are busy, nothing else is", () => {
  assert.deepEqual(
    phases.filter((phase) => appearance({ phase, message: "" }, true).busy),
    ["starting", "busy"],
  );
});

test("what needs the user's hand stands out, and nothing else does", () => {
  const severities = phases.map((phase) => [phase, appearance({ phase, message: "" }, true).severity]);
  assert.deepEqual(
    severities.filter(([, severity]) => severity !== 0),
    [
      ["no-torch", 1],
      ["failed", 2],
    ],
  );
});

test("a workspace that is not trusted says so, unless something is worse", () => {
  assert.match(appearance({ phase: "stopped", message: "" }, false).detail, /not trusted/);
  assert.equal(appearance({ phase: "failed", message: "why" }, false).detail, "why");
});
