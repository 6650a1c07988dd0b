import assert from "node:assert/strict";
import { test } from "node:test";
import type { GraphNode } from "../../src/protocol";
import { SearchBar } from "../search_bar";
import { node } from "./graphs";

/** A search field as far as the bar uses it: it has a value and hears events. */
class Field extends EventTarget {
  value = "";

  enter(): void {
    this.dispatchEvent(Object.assign(new Event("keydown"), { key: "Enter", shiftKey: false }));
  }
}

const NAMES = ["conv1", "conv2", "conv3"];

/** A bar that searches the convolutions, stands on the second, and is then shown `nodes`. */
function shownAnew(nodes: GraphNode[]): { hits: string; enter: () => string } {
  const field = new Field();
  const hits = { textContent: "" };
  let marked: GraphNode[] = [];
  let gone = "";
  const bar = new SearchBar(
    field as unknown as HTMLInputElement,
    hits as HTMLElement,
    (found) => {
      marked = found;
    },
    ({ name }) => {
      gone = name;
    },
  );
  field.value = "conv";
  bar.show(NAMES.map((name) => node(name, [])));
  field.enter();
  field.enter();
  assert.equal(hits.textContent, "2 of 3 hits");
  bar.show(nodes);
  assert.deepEqual(
    marked,
    nodes.filter(({ name }) => name.startsWith("conv")),
  );
  const enter = () => {
    field.enter();
    return gone;
  };
  return { hits: hits.textContent, enter };
}

test("a newer graph doesn't take away the hit that a person stands on", () => {
  const { hits, enter } = shownAnew(["conv0", ...NAMES].map((name) => node(name, [])));
  assert.equal(hits, "3 of 4 hits");
  assert.equal(enter(), "conv3");
});

test("where that hit is gone, the search begins at the first one", () => {
  const { hits, enter } = shownAnew([node("conv1", []), node("conv3", [])]);
  assert.equal(hits, "2 hits");
  assert.equal(enter(), "conv1");
});
