/**
 * What can be seen, as a tree for the keyboard and for screen readers: the drawing itself says nothing to them.
 * Only the items around the active one are in the page; each says which of how many it is.
 */
import { around, type Item, type Leaf } from "./hierarchy";
import { count } from "./scene";
import type { Shading } from "./shading";

const NEIGHBOURS = 10;

export class Outline {
  /** @param detail shows, to all who see, what is said of the active item */
  constructor(
    private readonly element: HTMLElement,
    private readonly detail: HTMLElement,
  ) {}

  /** Shows `items`, those that can be seen, with one of them active; says their share of the costs if they are shaded. */
  show(items: Item[], isOpen: (id: string) => boolean, active: string | undefined, shading: Shading | undefined): void {
    const index = items.findIndex(({ id }) => id === active);
    const start = Math.max(0, index - NEIGHBOURS);
    const shown = items.slice(start, index + NEIGHBOURS + 1);
    this.element.replaceChildren(...shown.map((item) => treeItem(item, isOpen(item.id), item.id === active, shading)));
    const item = items[index];
    this.detail.textContent = item ? described(item, shading) : "";
    if (!item) {
      this.element.removeAttribute("aria-activedescendant");
    } else {
      this.element.setAttribute("aria-activedescendant", elementId(item));
    }
  }
}

function treeItem(item: Item, open: boolean, active: boolean, shading: Shading | undefined): HTMLElement {
  const siblings = item.parent?.children ?? [];
  const element = document.createElement("div");
  element.id = elementId(item);
  element.setAttribute("role", "treeitem");
  element.setAttribute("aria-level", String(around(item).length + 1));
  element.setAttribute("aria-setsize", String(siblings.length));
  element.setAttribute("aria-posinset", String(siblings.indexOf(item) + 1));
  element.setAttribute("aria-selected", String(active));
  if (item.kind === "box") {
    element.setAttribute("aria-expanded", String(open));
  }
  element.textContent = described(item, shading);
  return element;
}

function elementId(item: Item): string {
  return `item ${item.id}`.replaceAll(" ", "-");
}

/** `layer1.0, Bottleneck, 10 nodes`; `conv1, call_module, Conv2d, [b, 64, 56, 56] float32`; its share of the costs; why it can't be traced. */
export function described(item: Item, shading?: Shading): string {
  const share = shading?.described(item) ?? "";
  const words =
    item.kind === "box"
      ? [
          item.title,
          item.type,
          count(item.size, "node"),
          share,
          item.failing ? "✗ contains something that can't be traced" : "",
        ]
      : [
          item.node.name,
          item.node.op,
          item.node.module || item.node.target,
          item.node.value,
          share,
          ...failuresOf(item),
        ];
  return words.filter(Boolean).join(", ");
}

function failuresOf({ failures }: Leaf): string[] {
  return failures.map(({ text }) => `✗ ${text}`);
}
