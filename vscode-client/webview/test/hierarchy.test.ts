import assert from "node:assert/strict";
import { test } from "node:test";
import { described } from "../outline";
import { boxesIn, edgesBetween, hierarchyOf, openAtFirst, shownFor, visible } from "../hierarchy";
import { FAILING, graph, node, TWO_CALLS } from "./graphs";

const ids = (items: { id: string }[]) => items.map(({ id }) => id);

test("each call of a module is a box of its own, in the order of execution", () => {
  const { root } = hierarchyOf(TWO_CALLS);
  assert.deepEqual(ids(root.children), ["x", "block#1", "between", "block#2", "output"]);
  assert.deepEqual(
    boxesIn(root).map(({ title, type, size }) => [title, type, size]),
    [
      ["block", "Block", 2],
      ["block", "Block", 2],
    ],
  );
});

test("a box that holds nothing but another box is left out", () => {
  const { root } = hierarchyOf(graph([node("a", [], { scope: "layers.0" }), node("b", ["a"])]));
  assert.deepEqual(ids(root.children), ["layers.0#1", "b"]);
});

test("a module within a module lies in its box", () => {
  const scopes = ["layer.0", "layer.0.norm", "layer.0", "layer.1"];
  const { root } = hierarchyOf(graph(scopes.map((scope, index) => node(`n${String(index)}`, [], { scope }))));
  assert.deepEqual(ids(visible(root, new Set(["layer#1", "layer.0#1", "layer.0.norm#1"]))), [
    ...["layer#1", "layer.0#1", "n0", "layer.0.norm#1", "n1", "n2", "layer.1#1"],
  ]);
});

test("edges go to the outermost closed box, once for each pair, and not within one", () => {
  const hierarchy = hierarchyOf(TWO_CALLS);
  const pairs = (open: string[]) => edgesBetween(hierarchy, new Set(open)).map(({ from, to }) => `${from} → ${to}`);
  assert.deepEqual(pairs([]), [
    "x → block#1",
    "block#1 → between",
    "x → between",
    "between → block#2",
    "block#2 → output",
  ]);
  assert.ok(pairs(["block#1"]).includes("first → second"));
  assert.deepEqual(edgesBetween(hierarchy, new Set())[0]?.values, ["[b, 8]"]);
});

test("a node within a closed box is shown by the box", () => {
  const { leaves } = hierarchyOf(TWO_CALLS);
  const leaf = leaves.get("second");
  assert.ok(leaf);
  assert.equal(shownFor(leaf, new Set()).id, "block#1");
  assert.equal(shownFor(leaf, new Set(["block#1"])).id, "second");
});

test("thousands of nodes side by side are shown in parts", () => {
  const nodes = Array.from({ length: 3_000 }, (_, index) =>
    node(`n${String(index)}`, index ? [`n${String(index - 1)}`] : []),
  );
  const { root, leaves } = hierarchyOf(graph(nodes));
  assert.equal(root.children.length, 30);
  assert.equal(leaves.size, 3_000);
  assert.equal(boxesIn(root)[1]?.title, "101–200");
  assert.equal(openAtFirst(root).size, 0);
});

test("a small graph is open at first", () => {
  assert.deepEqual([...openAtFirst(hierarchyOf(TWO_CALLS).root)], ["block#1", "block#2"]);
});

test("what fails is marked, and so are the boxes around it", () => {
  const { root, leaves } = hierarchyOf(FAILING);
  const leaf = leaves.get("a");
  assert.ok(leaf?.failing);
  assert.deepEqual(
    leaf.failures.map(({ index }) => index),
    [0, 1],
  );
  assert.match(described(leaf), /^a, call_function, .*, ✗ len: Its length isn't known\., ✗ iteration: /);
  assert.equal(leaves.get("b")?.failing, false);
  assert.deepEqual(
    root.children.map(({ failing }) => failing),
    [true, false],
  );
});
