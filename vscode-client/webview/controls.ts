/** Pointer, wheel and keyboard on the drawn graph. */
import type { GraphView } from "./graph_view";
import type { Item } from "./hierarchy";
import { HEADER } from "./layout";

/** A pointer that moves less than this between down and up has clicked. */
const CLICK_PIXELS = 4;
const ZOOM_STEP = 1.25;
const PAN_STEP = 80;

/** @param chosen hears of the node whose source is wanted */
export function listen(view: GraphView, chosen: (name: string) => void): void {
  const choose = (item: Item) => {
    if (item.kind === "node") {
      view.select(item.id);
      chosen(item.id);
    } else {
      void view.toggle(item.id);
    }
  };
  pointer(view, choose);
  view.tree.addEventListener("wheel", (event) => {
    wheel(view, event);
  });
  view.tree.addEventListener("keydown", (event) => {
    if (move(view, event) || look(view, event) || act(view, event, choose)) {
      event.preventDefault();
    }
  });
}

function pointer(view: GraphView, choose: (item: Item) => void): void {
  let moved = 0;
  view.tree.addEventListener("pointerdown", (event) => {
    moved = 0;
    view.tree.setPointerCapture(event.pointerId);
  });
  view.tree.addEventListener("pointermove", (event) => {
    if (event.buttons & 1) {
      moved += Math.abs(event.movementX) + Math.abs(event.movementY);
      view.pan(-event.movementX, -event.movementY);
    }
  });
  view.tree.addEventListener("click", (event) => {
    const shape = moved < CLICK_PIXELS ? view.at(event.offsetX, event.offsetY) : undefined;
    const inside = shape?.open && !onHeader(view, event);
    if (shape && !inside) {
      choose(shape.item);
    }
  });
}

/** Whether a click on an open box meets its name: a little above, the box is no longer under the pointer. */
function onHeader(view: GraphView, { offsetX, offsetY }: MouseEvent): boolean {
  const [here, above] = [view.at(offsetX, offsetY), view.at(offsetX, offsetY - HEADER * view.scale)];
  return here?.item.id !== above?.item.id;
}

function wheel(view: GraphView, event: WheelEvent): void {
  event.preventDefault();
  if (event.ctrlKey || event.metaKey) {
    view.zoom(Math.exp(-event.deltaY / 300), { x: event.offsetX, y: event.offsetY });
  } else if (event.shiftKey) {
    view.pan(event.deltaY, event.deltaX);
  } else {
    view.pan(event.deltaX, event.deltaY);
  }
}

/** The keys that move through a tree. */
function move(view: GraphView, event: KeyboardEvent): boolean {
  if (event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) {
    return false;
  }
  const { items } = view;
  const current = view.selection;
  const index = current ? items.indexOf(current) : -1;
  const next: Partial<Record<string, () => Item | undefined>> = {
    ArrowDown: () => items[Math.min(index + 1, items.length - 1)],
    ArrowUp: () => items[Math.max(index - 1, 0)],
    Home: () => items[0],
    End: () => items.at(-1),
    ArrowRight: () => inwards(view, current),
    ArrowLeft: () => outwards(view, current),
  };
  const find = next[event.key];
  const item = find?.();
  if (item) {
    view.select(item.id);
  }
  return find !== undefined;
}

/** Opens a closed box; from an open one goes to the first item in it. */
function inwards(view: GraphView, item: Item | undefined): Item | undefined {
  if (item?.kind === "box" && view.isOpen(item.id)) {
    return item.children[0];
  }
  if (item?.kind === "box") {
    void view.toggle(item.id);
  }
  return item;
}

/** Closes an open box; from all else goes to the box around it. */
function outwards(view: GraphView, item: Item | undefined): Item | undefined {
  if (item?.kind === "box" && view.isOpen(item.id)) {
    void view.toggle(item.id);
    return item;
  }
  return item?.parent?.parent ? item.parent : item;
}

/** The keys that change what part is seen. */
function look(view: GraphView, event: KeyboardEvent): boolean {
  const pans: Partial<Record<string, [number, number]>> = {
    ArrowLeft: [-PAN_STEP, 0],
    ArrowRight: [PAN_STEP, 0],
    ArrowUp: [0, -PAN_STEP],
    ArrowDown: [0, PAN_STEP],
  };
  const pan = event.shiftKey ? pans[event.key] : undefined;
  if (pan) {
    view.pan(...pan);
  } else if (event.key === "+" || event.key === "=") {
    view.zoom(ZOOM_STEP);
  } else if (event.key === "-") {
    view.zoom(1 / ZOOM_STEP);
  } else if (event.key === "0") {
    view.fit();
  } else {
    return false;
  }
  return true;
}

function act(view: GraphView, event: KeyboardEvent, choose: (item: Item) => void): boolean {
  const item = view.selection;
  if (item && (event.key === "Enter" || event.key === " ")) {
    choose(item);
    return true;
  }
  return false;
}
