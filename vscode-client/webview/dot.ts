/** A graph in the language of Graphviz, with a cluster for each box. */
import type { Hierarchy, Item } from "./hierarchy";
import { titles } from "./scene";

export function toDot({ root, leaves }: Hierarchy, name: string): string {
  const edges = [...leaves.values()].flatMap(({ node }) =>
    [...new Set(node.inputs)].map((input) => `  ${edge(input, node.name, leaves.get(input)?.node.value ?? "")}`),
  );
  return [
    `digraph ${quoted(name)} {`,
    "  node [shape=box, fontname=monospace];",
    "  edge [fontname=monospace];",
    ...root.children.flatMap((child) => statements(child, "  ")),
    ...edges,
    "}",
    "",
  ].join("\n");
}

function statements(item: Item, indent: string): string[] {
  const { title, subtitle } = titles(item);
  const label = `label=${quoted(`${item.failing ? "✗ " : ""}${title}\n${subtitle}`)}`;
  const style = item.failing ? ", style=dashed, color=red" : "";
  if (item.kind === "node") {
    return [`${indent}${quoted(item.id)} [${label}${style}];`];
  }
  return [
    `${indent}subgraph ${quoted(`cluster ${item.id}`)} {`,
    `${indent}  ${label};`,
    ...item.children.flatMap((child) => statements(child, `${indent}  `)),
    `${indent}}`,
  ];
}

function edge(from: string, to: string, value: string): string {
  return `${quoted(from)} -> ${quoted(to)}${value ? ` [label=${quoted(value)}]` : ""};`;
}

function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
}
