/** What stands in the columns of the two tables. */
import type { Graph, GraphNode, ModuleCall, ModuleCosts } from "../src/protocol";
import type { Column } from "./grid";
import type { Hierarchy } from "./hierarchy";

/** A module call, how many parameters are used from it on for the first time, and what all calls of the module cost. */
export interface OrderRow extends ModuleCall {
  number: number;
  costs: ModuleCosts | undefined;
}

/** A node, and why it can't be traced; "" where it can. */
export interface NodeRow {
  node: GraphNode;
  failures: string;
}

export const NODE_COLUMNS: Column<NodeRow>[] = [
  { title: "opcode", width: "8.5em", text: ({ node }) => node.op },
  { title: "name", width: "minmax(9em, 2fr)", text: ({ node, failures }) => (failures ? "✗ " : "") + node.name },
  { title: "target", width: "minmax(9em, 2fr)", text: ({ node }) => node.target },
  { title: "module", width: "minmax(7em, 1fr)", text: ({ node }) => node.module },
  { title: "inputs", width: "minmax(9em, 2fr)", text: ({ node }) => node.inputs.join(", ") },
  { title: "users", width: "4em", text: ({ node }) => String(node.users.length) },
  amount("FLOPs", ({ node }) => node.flops),
  amount("bytes", ({ node }) => node.bytes),
  {
    title: "value, or why it can't be traced",
    width: "minmax(14em, 3fr)",
    text: ({ node, failures }) => failures || node.value,
  },
];

export const ORDER_COLUMNS: Column<OrderRow>[] = [
  { title: "#", width: "4em", text: ({ number }) => String(number) },
  {
    title: "module",
    width: "minmax(12em, 2fr)",
    text: ({ path, depth }) => "\u2003".repeat(depth) + (path || "(root)"),
  },
  { title: "class", width: "minmax(8em, 1fr)", text: ({ type }) => type },
  { title: "first uses", width: "6em", text: ({ parameters }) => String(parameters.length || "") },
  { title: "elements", width: "8em", text: ({ parameters }) => numbers(parameters) },
  amount("FLOPs, all calls", ({ costs }) => costs?.flops),
  amount("activations, bytes", ({ costs }) => costs?.activations),
  {
    title: "parameters, in the order of their first use",
    width: "minmax(14em, 4fr)",
    text: ({ parameters }) => parameters.map(({ name }) => name).join(", "),
  },
];

/** A column of numbers, by which the rows can be sorted; empty where a number is not known. */
function amount<Row>(title: string, number: (row: Row) => number | null | undefined): Column<Row> {
  return {
    title,
    width: "9em",
    text: (row) => number(row)?.toLocaleString("en-US") ?? "",
    number: (row) => number(row) ?? -1,
  };
}

function numbers(parameters: ModuleCall["parameters"]): string {
  const sum = parameters.reduce((total, { count }) => total + count, 0);
  return sum > 0 ? sum.toLocaleString("en-US") : "";
}

export function nodeRows({ nodes }: Graph, { leaves }: Hierarchy): NodeRow[] {
  const failuresOf = (name: string) => leaves.get(name)?.failures ?? [];
  return nodes.map((node) => ({
    node,
    failures: failuresOf(node.name)
      .map(({ text }) => `✗ ${text}`)
      .join(" "),
  }));
}

export function orderRows({ order, costs }: Graph): OrderRow[] {
  const byPath = new Map(costs?.modules.map((module) => [module.path, module]));
  return order.map((call, index) => ({ ...call, number: index + 1, costs: byPath.get(call.path) }));
}
