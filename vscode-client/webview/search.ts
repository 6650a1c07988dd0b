/** Which nodes a person is looking for. */
import type { GraphNode } from "../src/protocol";

/** The nodes that have every word in their name, target, scope, class or value, in the order of execution. */
export function matches(nodes: GraphNode[], text: string): GraphNode[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) {
    return [];
  }
  return nodes.filter(({ name, op, target, scope, module, value }) => {
    const all = [name, op, target, scope, module, value].join("\n").toLowerCase();
    return words.every((word) => all.includes(word));
  });
}
