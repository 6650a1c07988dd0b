import assert from "node:assert/strict";
import { test } from "node:test";
import { toDot } from "../dot";
import { sorted } from "../grid";
import { hierarchyOf } from "../hierarchy";
import { NODE_COLUMNS, nodeRows, ORDER_COLUMNS, orderRows } from "../tables";
import { FAILING, graph, node, TWO_CALLS } from "./graphs";

test("the row of a node that fails says so beside its name, and why", () => {
  const rows = nodeRows(FAILING, hierarchyOf(FAILING));
  const [failing, fine] = rows.map((row) => NODE_COLUMNS.map((column) => column.text(row)));
  assert.equal(failing?.[1], "✗ a");
  assert.match(failing.at(-1) ?? "", /^✗ len: Its length isn't known\. ✗ iteration: /);
  assert.deepEqual([fine?.[1], fine?.at(-1)], ["b", "[b, 8] float32"]);
});

test("Graphviz gets the sign of what fails, too", () => {
  assert.match(toDot(hierarchyOf(FAILING), "Net"), /"a" \[label="✗ a\\ntorch.relu", style=dashed, color=red\];/);
});

function column<Row extends { title: string }>(columns: Row[], title: string): Row {
  const found = columns.find((each) => each.title === title);
  assert.ok(found, title);
  return found;
}

test("nodes are sorted by what they cost, and those of which that isn't known come last", () => {
  const costly = graph([
    node("unknown", []),
    node("view", [], { flops: 0, bytes: 0 }),
    node("relu", [], { flops: 0, bytes: 64 }),
    node("linear", [], { flops: 12345, bytes: 32 }),
  ]);
  const rows = nodeRows(costly, hierarchyOf(costly));
  const names = (title: string) => sorted(rows, column(NODE_COLUMNS, title)).map((row) => row.node.name);
  assert.deepEqual(names("FLOPs"), ["linear", "view", "relu", "unknown"]);
  assert.deepEqual(names("bytes"), ["relu", "linear", "view", "unknown"]);
  assert.deepEqual(names("name"), ["unknown", "view", "relu", "linear"]);
  const flops = rows.map((row) => column(NODE_COLUMNS, "FLOPs").text(row));
  assert.deepEqual(flops, ["", "0", "0", "12,345"]);
});

test("the row of a module's call has the sums of all its calls", () => {
  const module = { path: "block", parameters: 9, flops: 2048, activations: null, peak: null };
  const costs = { input: "x: [2]", atLeast: false, limits: [], modules: [module] };
  const [root, block] = orderRows({ ...TWO_CALLS, costs });
  assert.ok(root && block);
  const told = (title: string) => column(ORDER_COLUMNS, title).text(block);
  assert.deepEqual([told("FLOPs, all calls"), told("activations, bytes")], ["2,048", ""]);
  assert.equal(column(ORDER_COLUMNS, "FLOPs, all calls").text(root), "");
});
