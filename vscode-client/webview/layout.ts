/** Places for what can be seen of a graph; ELK finds them, in a worker, so that the page stays usable meanwhile. */
import type { ELK, ElkExtendedEdge, ElkNode } from "elkjs/lib/elk-api";
import { edgesBetween, type Edge, type Hierarchy, type Item } from "./hierarchy";
import { EMPTY, titles, type Line, type Scene, type Shape } from "./scene";

/** A character's width and a shape's height for the font that shapes are drawn with. */
export const FONT = { size: 12, width: 7.3, family: "monospace" };
const HEIGHT = 40;
const PADDING = 12;
/** Above what is in an open box: its name. */
export const HEADER = 26;

/** What ELK asks of every box anew. */
const SPACING = {
  // Room for a line's label.
  "elk.layered.spacing.nodeNodeBetweenLayers": "36",
  "elk.spacing.nodeNode": "24",
  "elk.spacing.edgeNode": "16",
};
const OPTIONS = {
  ...SPACING,
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.edgeRouting": "POLYLINE",
  "elk.hierarchyHandling": "INCLUDE_CHILDREN",
  "elk.json.edgeCoords": "ROOT",
  "elk.json.shapeCoords": "ROOT",
  "elk.layered.nodePlacement.strategy": "BRANDES_KOEPF",
  "elk.layered.nodePlacement.bk.fixedAlignment": "BALANCED",
  "elk.layered.thoroughness": "3",
};
const OPEN_BOX = { ...SPACING, "elk.padding": `[top=${String(HEADER + 8)},left=14,bottom=24,right=14]` };

/** The scene of a hierarchy with some of its boxes open. */
export async function layOut(elk: ELK, hierarchy: Hierarchy, open: ReadonlySet<string>): Promise<Scene> {
  const { root } = hierarchy;
  if (root.children.length === 0) {
    return EMPTY;
  }
  const edges = edgesBetween(hierarchy, open);
  const labels = new Map(edges.map(({ from, values }) => [from, label(values)]));
  const wanted: ElkNode = {
    id: "root",
    layoutOptions: OPTIONS,
    children: root.children.map((child) => elkNode(child, open, labels)),
    edges: edges.map(elkEdge),
  };
  const placed = await elk.layout(wanted);
  const items = new Map<string, ElkNode>();
  collect(placed, items);
  return {
    x: 0,
    y: 0,
    width: placed.width ?? 0,
    height: placed.height ?? 0,
    shapes: shapes(root.children, open, items),
    lines: (placed.edges ?? []).flatMap((edge, index) => line(edge, edges[index])),
  };
}

/** As wide as its texts and the label on the lines from it: ELK could keep room for labels, in twice the time. */
function elkNode(item: Item, open: ReadonlySet<string>, labels: ReadonlyMap<string, string>): ElkNode {
  if (item.kind === "box" && open.has(item.id)) {
    const children = item.children.map((child) => elkNode(child, open, labels));
    return { id: item.id, layoutOptions: OPEN_BOX, children };
  }
  const { title, subtitle } = titles(item);
  const marks = (item.kind === "box" ? 2 : 0) + (item.failing ? 2 : 0);
  const longest = Math.max(title.length + marks, subtitle.length, labels.get(item.id)?.length ?? 0);
  const width = longest * FONT.width + 2 * PADDING;
  return { id: item.id, width, height: HEIGHT };
}

function elkEdge({ from, to }: Edge, index: number): ElkExtendedEdge {
  return { id: `edge ${String(index)}`, sources: [from], targets: [to] };
}

function collect(node: ElkNode, into: Map<string, ElkNode>): void {
  for (const child of node.children ?? []) {
    into.set(child.id, child);
    collect(child, into);
  }
}

function shapes(items: Item[], open: ReadonlySet<string>, placed: Map<string, ElkNode>): Shape[] {
  return items.flatMap((item) => {
    const { x = 0, y = 0, width = 0, height = 0 } = placed.get(item.id) ?? {};
    const isOpen = item.kind === "box" && open.has(item.id);
    const shape = { item, open: isOpen, x, y, width, height, ...titles(item) };
    return isOpen ? [shape, ...shapes(item.children, open, placed)] : [shape];
  });
}

function line(edge: ElkExtendedEdge, of: Edge | undefined): Line[] {
  const section = edge.sections?.[0];
  if (!section || !of) {
    return [];
  }
  const points = [section.startPoint, ...(section.bendPoints ?? []), section.endPoint].flatMap(({ x, y }) => [x, y]);
  return [{ from: of.from, to: of.to, points, label: label(of.values) }];
}

function label(values: string[]): string {
  const [first = "", ...others] = values;
  return others.length > 0 ? `${first} +${String(others.length)}` : first;
}
