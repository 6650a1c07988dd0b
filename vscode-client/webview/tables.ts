/** What stands in the columns of the two tables. */
import type { GraphNode, ModuleCall } from "../src/protocol";
import type { Column } from "./grid";

/** A module call, and how many parameters are used from it on for the first time. */
export interface OrderRow extends ModuleCall {
  number: number;
}

export const NODE_COLUMNS: Column<GraphNode>[] = [
  { title: "opcode", width: "8.5em", text: ({ op }) => op },
  { title: "name", width: "minmax(9em, 2fr)", text: ({ name }) => name },
  { title: "target", width: "minmax(9em, 2fr)", text: ({ target }) => target },
  { title: "module", width: "minmax(7em, 1fr)", text: ({ module }) => module },
  { title: "inputs", width: "minmax(9em, 2fr)", text: ({ inputs }) => inputs.join(", ") },
  { title: "users", width: "4em", text: ({ users }) => String(users.length) },
  { title: "value", width: "minmax(11em, 2fr)", text: ({ value }) => value },
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
  { title: "numbers", width: "8em", text: ({ parameters }) => numbers(parameters) },
  {
    title: "parameters, in the order of their first use",
    width: "minmax(14em, 4fr)",
    text: ({ parameters }) => parameters.map(({ name }) => name).join(", "),
  },
];

function numbers(parameters: ModuleCall["parameters"]): string {
  const sum = parameters.reduce((total, { count }) => total + count, 0);
  return sum > 0 ? sum.toLocaleString("en-US") : "";
}

export function orderRows(order: ModuleCall[]): OrderRow[] {
  return order.map((call, index) => ({ ...call, number: index + 1 }));
}
