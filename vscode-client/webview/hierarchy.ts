/** Nodes in boxes: one for each call of a module, in the order of execution. */
import type { Graph, GraphNode, TraceFailure } from "../src/protocol";

export interface Box {
  kind: "box";
  /** Its path and which of that path's boxes it is; the same for a later graph that has such a box too. */
  id: string;
  title: string;
  /** The class of the module; "" where that is not known. */
  type: string;
  parent: Box | null;
  children: Item[];
  /** How many nodes lie in it, at any depth. */
  size: number;
  failing: boolean;
}

export interface Leaf {
  kind: "node";
  /** The node's name. */
  id: string;
  node: GraphNode;
  parent: Box;
  failing: boolean;
  /** What it stands for that can't be traced. */
  failures: Failing[];
}

/** One of the graph's failures: which, and what it says. */
export interface Failing {
  index: number;
  text: string;
}

export type Item = Box | Leaf;

export interface Hierarchy {
  root: Box;
  leaves: Map<string, Leaf>;
}

/** A box with more than this many children shows them in parts: neither a layout nor an eye takes thousands at once. */
const MOST_CHILDREN = 200;
const PART = 100;

/** A call is a run of nodes that follow each other: calling a module twice makes two boxes, so boxes are never in a cycle. */
export function hierarchyOf(graph: Graph): Hierarchy {
  const types = new Map(graph.order.map(({ path, type }) => [path, type]));
  const boxes = new Boxes((path) => types.get(path) ?? "");
  const leaves = new Map<string, Leaf>();
  const failing = failuresOf(graph);
  for (const node of graph.nodes) {
    const parent = boxes.enter(node.scope);
    const failures = failing.get(node.name) ?? [];
    const leaf: Leaf = { kind: "node", id: node.name, node, parent, failing: failures.length > 0, failures };
    parent.children.push(leaf);
    leaves.set(node.name, leaf);
  }
  const root = boxes.root;
  simplify(root);
  summarize(root);
  return { root, leaves };
}

/** The boxes that are open while nodes are read in order. */
class Boxes {
  readonly root: Box;
  private readonly stack: { path: string; box: Box }[];
  private readonly calls = new Map<string, number>();

  constructor(private readonly typeOf: (path: string) => string) {
    this.root = newBox("", "", typeOf(""), null);
    this.stack = [{ path: "", box: this.root }];
  }

  /** The box of a scope: those of other modules are left, its own and those around it are made where they are missing. */
  enter(scope: string): Box {
    while (!within(scope, this.top.path)) {
      this.stack.pop();
    }
    const names = scope.slice(this.top.path.length).split(".").filter(Boolean);
    for (const name of names) {
      const { path: outer, box: parent } = this.top;
      const path = outer ? `${outer}.${name}` : name;
      const call = (this.calls.get(path) ?? 0) + 1;
      this.calls.set(path, call);
      const box = newBox(`${path}#${String(call)}`, path, this.typeOf(path), parent);
      parent.children.push(box);
      this.stack.push({ path, box });
    }
    return this.top.box;
  }

  private get top(): { path: string; box: Box } {
    return this.stack[this.stack.length - 1] ?? { path: "", box: this.root };
  }
}

function newBox(id: string, title: string, type: string, parent: Box | null): Box {
  return { kind: "box", id, title, type, parent, children: [], size: 0, failing: false };
}

function within(scope: string, path: string): boolean {
  return path === "" || scope === path || scope.startsWith(`${path}.`);
}

/** By the name of a node, the failures that it stands for. */
function failuresOf({ failures }: Graph): Map<string, Failing[]> {
  const found = new Map<string, Failing[]>();
  failures.forEach((failure, index) => {
    for (const name of failure.nodes) {
      found.set(name, [...(found.get(name) ?? []), { index, text: failureText(failure) }]);
    }
  });
  return found;
}

/** `control-flow: which way to go isn't known`. */
export function failureText({ code, message }: TraceFailure): string {
  return `${code}: ${message}`;
}

/** Takes boxes away that hold nothing but another box, and makes parts of those that hold too much. */
function simplify(box: Box): void {
  box.children = box.children.map((child) => {
    let kept = child;
    for (let only = onlyBox(kept); only; only = onlyBox(kept)) {
      only.parent = box;
      kept = only;
    }
    return kept;
  });
  for (const child of box.children) {
    if (child.kind === "box") {
      simplify(child);
    }
  }
  if (box.children.length > MOST_CHILDREN) {
    box.children = parts(box);
  }
}

function onlyBox(item: Item): Box | undefined {
  const only = item.kind === "box" && item.children.length === 1 ? item.children[0] : undefined;
  return only?.kind === "box" ? only : undefined;
}

function parts(box: Box): Item[] {
  const found: Box[] = [];
  for (let start = 0; start < box.children.length; start += PART) {
    const children = box.children.slice(start, start + PART);
    const title = `${String(start + 1)}–${String(start + children.length)}`;
    const part = newBox(`${box.id}/${String(start)}`, title, "", box);
    part.children = children;
    children.forEach((child) => (child.parent = part));
    found.push(part);
  }
  return found;
}

function summarize(box: Box): void {
  for (const child of box.children) {
    if (child.kind === "box") {
      summarize(child);
    }
    box.size += child.kind === "box" ? child.size : 1;
    box.failing ||= child.failing;
  }
}

/** The boxes around an item, the innermost first, without the root. */
export function around(item: Item): Box[] {
  const found: Box[] = [];
  for (let box = item.parent; box?.parent; box = box.parent) {
    found.push(box);
  }
  return found;
}

/** Everything that can be seen: what lies in no closed box. Boxes stand before what is in them. */
export function visible(root: Box, open: ReadonlySet<string>): Item[] {
  return root.children.flatMap((child) =>
    child.kind === "box" && open.has(child.id) ? [child, ...visible(child, open)] : [child],
  );
}

/** What stands for a node: itself, or the outermost closed box that it is in. */
export function shownFor(leaf: Leaf, open: ReadonlySet<string>): Item {
  return around(leaf).findLast((box) => !open.has(box.id)) ?? leaf;
}

/** All boxes below `root`. */
export function boxesIn(root: Box): Box[] {
  return root.children.flatMap((child) => (child.kind === "box" ? [child, ...boxesIn(child)] : []));
}

/** The boxes to open at first, the outer ones before the inner, as long as what is seen stays a readable number. */
export function openAtFirst(root: Box, most = 40): Set<string> {
  const open = new Set<string>();
  let seen = root.children.length;
  let level = root.children;
  while (level.length > 0) {
    const boxes = level.filter((item) => item.kind === "box");
    for (const box of boxes) {
      if (seen + box.children.length <= most) {
        open.add(box.id);
        seen += box.children.length;
      }
    }
    level = boxes.filter(({ id }) => open.has(id)).flatMap(({ children }) => children);
  }
  return open;
}

export interface Edge {
  from: string;
  to: string;
  /** The values that go along it. */
  values: string[];
}

/** The edges between what can be seen: one for all values that go from one item to another. */
export function edgesBetween({ leaves }: Hierarchy, open: ReadonlySet<string>): Edge[] {
  const shown = new Map([...leaves.values()].map((leaf) => [leaf.id, shownFor(leaf, open).id]));
  const edges = new Map<string, Edge>();
  for (const { node } of leaves.values()) {
    const to = shown.get(node.name) ?? node.name;
    for (const input of new Set(node.inputs)) {
      const from = shown.get(input);
      if (from === undefined || from === to) {
        continue;
      }
      const edge = edges.get(`${from}\n${to}`) ?? { from, to, values: [] };
      edges.set(`${from}\n${to}`, edge);
      const value = shortValue(leaves.get(input)?.node);
      if (value && !edge.values.includes(value)) {
        edge.values.push(value);
      }
    }
  }
  return [...edges.values()];
}

/** A node's value without the type that nearly all have. */
export function shortValue(node: GraphNode | undefined): string {
  return (node?.value ?? "").replaceAll(" float32", "");
}
