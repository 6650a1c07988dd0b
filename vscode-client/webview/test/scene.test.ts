import ELK from "elkjs/lib/elk.bundled.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { atTop, fitted, panned, seen, zoomed } from "../camera";
import { toDot } from "../dot";
import { hierarchyOf } from "../hierarchy";
import { layOut } from "../layout";
import { overlap, shapeAt, shapeOf, type Shape } from "../scene";
import { toSvg } from "../svg";
import { graph, node, TWO_CALLS } from "./graphs";

const hierarchy = hierarchyOf(TWO_CALLS);
const laidOut = (...open: string[]) => layOut(new ELK(), hierarchy, new Set(open));
const PALETTE = {
  background: "#fff",
  text: "#000",
  quiet: "#444",
  shape: "#eee",
  box: "#ddd",
  selected: "#00f",
  failing: "#f00",
  found: "#fa0",
  costly: "#1a85ff",
};

function inside(inner: Shape | undefined, outer: Shape | undefined): boolean {
  return Boolean(
    inner &&
    outer &&
    outer.x < inner.x &&
    outer.y < inner.y &&
    inner.x + inner.width < outer.x + outer.width &&
    inner.y + inner.height < outer.y + outer.height,
  );
}

test("values flow downwards, and nothing lies on anything else", async () => {
  const { shapes } = await laidOut();
  assert.deepEqual(
    shapes.map(({ y }) => y),
    shapes.map(({ y }) => y).sort((a, b) => a - b),
  );
  for (const [index, shape] of shapes.entries()) {
    assert.ok(!shapes.slice(index + 1).some((other) => overlap(shape, other)));
  }
});

test("what an open box holds lies in it, and lines end at what they join", async () => {
  const scene = await laidOut("block#1");
  assert.ok(inside(shapeOf(scene, "first"), shapeOf(scene, "block#1")));
  assert.ok(!inside(shapeOf(scene, "between"), shapeOf(scene, "block#1")));
  for (const { from, to, points } of scene.lines) {
    const [start, end] = [points.slice(0, 2), points.slice(-2)];
    for (const [id, [x = 0, y = 0]] of [[from, start] as const, [to, end] as const]) {
      const shape = shapeOf(scene, id);
      assert.ok(shape && overlap(shape, { x: x - 1, y: y - 1, width: 2, height: 2 }), `${from} → ${to} misses ${id}`);
    }
  }
});

test("the innermost shape is found at a point", async () => {
  const scene = await laidOut("block#1");
  const first = shapeOf(scene, "first");
  assert.ok(first);
  assert.equal(shapeAt(scene, first.x + 1, first.y + 1)?.item.id, "first");
  assert.equal(shapeAt(scene, -100, -100), undefined);
});

test("zooming keeps the point under the pointer, panning follows it", () => {
  const camera = { x: 10, y: 20, scale: 0.5 };
  const larger = zoomed(camera, 2, { x: 100, y: 50 });
  assert.deepEqual([larger.x + 100 / larger.scale, larger.y + 50 / larger.scale], [10 + 200, 20 + 100]);
  assert.deepEqual(panned(camera, 5, -5), { x: 20, y: 10, scale: 0.5 });
});

test("fitting shows all; the beginning of a long graph stays readable", () => {
  const place = { x: 0, y: 0, width: 300, height: 100_000 };
  const view = { width: 800, height: 600 };
  const all = seen(fitted(place, view), view);
  assert.ok(all.y <= 0 && all.height >= 100_000);
  assert.ok(atTop(place, view).scale > 0.5);
  assert.ok(atTop(place, view).y < 0);
});

test("a picture has every shape and every value, and no markup from names", async () => {
  const scene = await layOut(new ELK(), hierarchyOf(graph([node("a<b>", [])])), new Set());
  assert.match(toSvg(scene, PALETTE, "Graph of <Net>"), /<title>Graph of &lt;Net><\/title>.*>a&lt;b></s);
  const svg = toSvg(await laidOut("block#1", "block#2"), PALETTE, "Net");
  assert.equal(svg.match(/<rect [^>]*rx=/g)?.length, 9);
  assert.equal(svg.match(/<polyline/g)?.length, 7);
  assert.match(svg, />\[b, 8\]</);
});

test("Graphviz gets all nodes in clusters, and all edges", () => {
  const dot = toDot(hierarchy, 'Net("x")');
  assert.match(dot, /^digraph "Net\(\\"x\\"\)" \{$/m);
  assert.equal(dot.match(/subgraph "cluster /g)?.length, 2);
  assert.equal(dot.match(/ -> /g)?.length, 7);
  assert.match(dot, /"first" \[label="first\\ntorch.relu"\];/);
});
