import assert from "node:assert/strict";
import { test } from "node:test";
import { toDot } from "../dot";
import { hierarchyOf } from "../hierarchy";
import { NODE_COLUMNS, nodeRows } from "../tables";
import { FAILING } from "./graphs";

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
