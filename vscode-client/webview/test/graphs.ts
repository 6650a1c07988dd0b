/** Graphs to draw, as the server would send them. */
import type { Graph, GraphNode, ModuleCall } from "../../src/protocol";

export function node(name: string, inputs: string[], more: Partial<GraphNode> = {}): GraphNode {
  return {
    name,
    op: "call_function",
    target: "torch.relu",
    inputs,
    users: [],
    scope: "",
    module: "",
    source: null,
    line: null,
    value: "[b, 8] float32",
    shape: ["b", "8"],
    dtype: "float32",
    flops: null,
    bytes: null,
    ...more,
  };
}

export function graph(nodes: GraphNode[], order: ModuleCall[] = []): Graph {
  const target = { key: "Net", title: "Net", range: null, outcome: "traced", summary: "" };
  const counted = { symbols: {}, parameters: 0, costs: null, chosen: null };
  return {
    target,
    capture: "fx",
    captures: ["fx"],
    outcome: "traced",
    stale: false,
    input: null,
    ...counted,
    nodes,
    order,
    failures: [],
  };
}

/** A node in `block` that fails in two ways, and one behind it. */
export const FAILING: Graph = {
  ...graph([node("a", [], { scope: "block" }), node("b", ["a"])]),
  failures: [
    { message: "Its length isn't known.", code: "len", location: null, nodes: ["a"] },
    { message: "It is not known how often to go round.", code: "iteration", location: null, nodes: ["a"] },
    { message: "Nothing stands for it.", code: "exception", location: null, nodes: [] },
  ],
};

/** An input, two calls to `block` with two nodes each with one of the root between them, and an output. */
export const TWO_CALLS = graph(
  [
    node("x", [], { op: "placeholder", target: "x" }),
    node("first", ["x"], { scope: "block" }),
    node("second", ["first"], { scope: "block" }),
    node("between", ["second", "x"]),
    node("first_1", ["between"], { scope: "block" }),
    node("second_1", ["first_1"], { scope: "block" }),
    node("output", ["second_1"], { op: "output", target: "output" }),
  ],
  [
    { path: "", type: "Net", depth: 0, parameters: [] },
    { path: "block", type: "Block", depth: 1, parameters: [] },
  ],
);
