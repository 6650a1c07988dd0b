import ELK from "elkjs/lib/elk.bundled.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { contrast } from "../colours";
import { boxesIn, hierarchyOf, type Item } from "../hierarchy";
import { layOut } from "../layout";
import { described } from "../outline";
import { paintAt, type Palette } from "../palette";
import { LEVELS, Shading } from "../shading";
import { toSvg } from "../svg";
import { graph, node, TWO_CALLS } from "./graphs";

/** `block` has 32 and 8 of 1000 FLOPs, `large` has 960; `view` has none, and `unknown` was not counted. */
const COSTLY = graph([
  node("first", [], { scope: "block", flops: 32, bytes: 0 }),
  node("second", ["first"], { scope: "block", flops: 8, bytes: 0 }),
  node("large", ["second"], { flops: 960, bytes: 0 }),
  node("view", ["large"], { flops: 0, bytes: 0 }),
  node("unknown", ["view"]),
]);
const hierarchy = hierarchyOf(COSTLY);
const shading = new Shading(hierarchy, "flops");

function item(id: string): Item {
  const found = hierarchy.leaves.get(id) ?? boxesIn(hierarchy.root).find((box) => box.id === id);
  assert.ok(found, id);
  return found;
}

test("each item has its share, boxes that of all that is in them", () => {
  const shares = ["block#1", "first", "second", "large", "view", "unknown"].map((id) => shading.share(item(id)));
  assert.deepEqual(shares, ["4 %", "3 %", "1 %", "96 %", "0 %", "?"]);
});

test("the more costs, the higher the level; without costs there is no shade", () => {
  const levels = ["view", "unknown", "second", "first", "block#1", "large"].map((id) => shading.level(item(id)));
  assert.deepEqual(levels, [0, 0, 1, 3, 3, LEVELS]);
});

test("the legend names every level", () => {
  assert.deepEqual(shading.legend, [
    "0 %, or not counted (?)",
    "up to 1 %",
    "up to 3 %",
    "up to 10 %",
    "up to 30 %",
    "over 30 %",
  ]);
  assert.equal(shading.legend.length, LEVELS + 1);
});

test("nodes that compute nothing have no share", () => {
  const { leaves } = hierarchyOf(TWO_CALLS);
  for (const name of ["x", "output"]) {
    const leaf = leaves.get(name);
    assert.ok(leaf);
    assert.deepEqual([shading.share(leaf), described(leaf, shading)], [undefined, described(leaf)]);
  }
});

test("a share that is only nearly nothing or nearly all is not rounded to that", () => {
  const lopsided = hierarchyOf(graph([node("most", [], { flops: 99_999 }), node("little", [], { flops: 1 })]));
  const shares = [...lopsided.leaves.values()].map((leaf) => new Shading(lopsided, "flops").share(leaf));
  assert.deepEqual(shares, [">99 %", "<1 %"]);
});

test("nothing is shaded where nothing was counted, or where all is zero", () => {
  assert.ok(shading.isKnown);
  for (const unknown of [new Shading(hierarchyOf(TWO_CALLS), "flops"), new Shading(hierarchy, "bytes")]) {
    assert.ok(!unknown.isKnown);
  }
  const bytes = new Shading(hierarchy, "bytes");
  assert.deepEqual([bytes.level(item("large")), bytes.share(item("large"))], [0, "?"]);
});

test("screen readers say the share", () => {
  assert.match(described(item("block#1"), shading), /, 2 nodes, 4 % of the FLOPs$/);
  assert.match(described(item("large"), shading), /, 96 % of the FLOPs$/);
  assert.match(described(item("unknown"), shading), /, FLOPs not known$/);
  assert.doesNotMatch(described(item("large")), /FLOPs/);
});

test("a picture has the shades, and the shares in place of the second lines", async () => {
  const scene = await layOut(new ELK(), hierarchy, new Set());
  const palette = THEMES.light;
  const [plain, shaded] = [toSvg(scene, palette, "Net"), toSvg(scene, palette, "Net", shading)];
  const darkest = paintAt(LEVELS, palette).fill;
  assert.ok(!plain.includes(darkest) && shaded.includes(darkest));
  assert.match(shaded, />4 %<.*>96 %<.*>0 %<.*>\?</s);
  assert.doesNotMatch(plain, /%</);
});

/** The colours of the default themes that shapes and their shades are made of. */
const THEMES = {
  light: palette({ background: "#ffffff", text: "#3b3b3b", shape: "#f8f8f8", costly: "#1a85ff" }),
  dark: palette({ background: "#1f1f1f", text: "#cccccc", shape: "#202020", costly: "#59a4f9" }),
  "high-contrast light": palette({ background: "#ffffff", text: "#292929", shape: "#ffffff", costly: "#1a85ff" }),
  "high-contrast dark": palette({ background: "#000000", text: "#ffffff", shape: "#0c141f", costly: "#59a4f9" }),
};

function palette(own: Pick<Palette, "background" | "text" | "shape" | "costly">): Palette {
  const other = own.text;
  return { ...own, quiet: other, box: own.background, selected: other, failing: other, found: other };
}

for (const [name, theme] of Object.entries(THEMES)) {
  test(`text can be read on every shade, and each is farther from the plain shape: ${name}`, () => {
    let last = 1;
    for (let level = 1; level <= LEVELS; level++) {
      const { fill, text, quiet } = paintAt(level, theme);
      assert.ok(contrast(fill, text) >= 4.5 && contrast(fill, quiet) >= 4.5, `${String(level)}: ${fill}`);
      assert.ok(contrast(fill, theme.shape) > last, `${String(level)}: ${fill}`);
      last = contrast(fill, theme.shape);
    }
  });
}

test("colours are read as a theme writes them", () => {
  const white = ["#fff", "#ffffff", "#FFFFFFcc", "rgb(255, 255, 255)", "rgba(255, 255, 255, 0.5)", "rgb(255 255 255)"];
  for (const colour of white) {
    assert.equal(contrast(colour, "#000000"), 21, colour);
  }
});
