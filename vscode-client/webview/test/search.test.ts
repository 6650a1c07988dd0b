import assert from "node:assert/strict";
import { test } from "node:test";
import { matches } from "../search";
import { node } from "./graphs";

const NODES = [
  node("conv1", [], { op: "call_module", target: "stem.conv1", module: "Conv2d" }),
  node("relu", ["conv1"], { scope: "stem" }),
];

const found = (text: string) => matches(NODES, text).map(({ name }) => name);

test("every word has to be somewhere in a node", () => {
  assert.deepEqual(found("conv2d STEM"), ["conv1"]);
  assert.deepEqual(found("stem"), ["conv1", "relu"]);
  assert.deepEqual(found("stem linear"), []);
});

test("nothing is found by nothing", () => {
  assert.deepEqual(found("  "), []);
});
