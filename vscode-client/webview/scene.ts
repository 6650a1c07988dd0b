/** Where everything that is drawn lies, in units of the graph. */
import type { Item } from "./hierarchy";

export interface Place {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Shape extends Place {
  item: Item;
  /** Whether it is a box that shows what is in it. */
  open: boolean;
  title: string;
  subtitle: string;
}

export interface Line {
  from: string;
  to: string;
  /** x and y of its corners in turn. */
  points: number[];
  label: string;
}

export interface Scene extends Place {
  /** Boxes stand before what is in them. */
  shapes: Shape[];
  lines: Line[];
}

export const EMPTY: Scene = { x: 0, y: 0, width: 0, height: 0, shapes: [], lines: [] };

export function shapeOf(scene: Scene, id: string): Shape | undefined {
  return scene.shapes.find(({ item }) => item.id === id);
}

/** The innermost shape at a point. */
export function shapeAt(scene: Scene, x: number, y: number): Shape | undefined {
  return scene.shapes.findLast(
    (shape) => shape.x <= x && x <= shape.x + shape.width && shape.y <= y && y <= shape.y + shape.height,
  );
}

/** Whether two places share a point. */
export function overlap(one: Place, other: Place): boolean {
  return (
    one.x <= other.x + other.width &&
    other.x <= one.x + one.width &&
    one.y <= other.y + other.height &&
    other.y <= one.y + one.height
  );
}

/** The smallest place that has all corners of a line. */
export function extent({ points }: Line): Place {
  const xs = points.filter((_, index) => index % 2 === 0);
  const ys = points.filter((_, index) => index % 2 === 1);
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}

/** What an item is called, and what it does, in a few words each. */
export function titles(item: Item): { title: string; subtitle: string } {
  if (item.kind === "box") {
    return { title: item.title, subtitle: [item.type, count(item.size, "node")].filter(Boolean).join(" · ") };
  }
  const { name, op, target, module } = item.node;
  const what = { placeholder: "input", output: "output", get_attr: target, call_module: module || target };
  return { title: name, subtitle: op === "call_function" || op === "call_method" ? target : what[op] };
}

/** `1 node`, `2 nodes`. */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;
}
