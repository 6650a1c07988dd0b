import assert from "node:assert/strict";
import { test } from "node:test";
import { type Appearance, appearance, StatusLine, type Status } from "../src/status";

const phases: Status["phase"][] = ["starting", "ready", "busy", "paused", "no-torch", "failed", "stopped"];

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

const shown = (phase: Status["phase"]) => appearance({ phase, message: "torch 2.13" }, true);

/** A status item that begins as `first`, and what is set on it. */
function recordingItem(first: Appearance) {
  const set: string[] = [];
  const item = new Proxy(first, {
    set: (target, name, value) => {
      set.push(String(name));
      return Reflect.set(target, name, value);
    },
  });
  return { item, set };
}

test("work that is done within a second is not shown", ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { item, set } = recordingItem(shown("ready"));
  const line = new StatusLine(item);
  line.show(shown("busy"));
  mock.timers.tick(999);
  line.show(shown("ready"));
  mock.timers.tick(1_000);
  assert.deepEqual(set, []);
});

test("work that goes on is shown, and its end at once", ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { item, set } = recordingItem(shown("ready"));
  const line = new StatusLine(item);
  line.show(shown("busy"));
  mock.timers.tick(1_000);
  assert.deepEqual(item, shown("busy"));
  assert.deepEqual(set, ["text", "busy"], "what stays as it was is not set again");
  line.show(shown("ready"));
  assert.deepEqual(item, shown("ready"));
});

test("what is wrong is shown at once, also while other work waits to be shown", ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { item } = recordingItem(shown("ready"));
  const line = new StatusLine(item);
  line.show(shown("busy"));
  line.show(shown("failed"));
  mock.timers.tick(1_000);
  assert.deepEqual(item, shown("failed"));
});
