/** The drawn graph: which boxes are open, what is selected, what part is seen. */
import type { ELK } from "elkjs/lib/elk-api";
import { atTop, centred, fitted, panned, zoomed, type Camera } from "./camera";
import { Painter } from "./canvas";
import { around, boxesIn, openAtFirst, visible, type Hierarchy, type Item } from "./hierarchy";
import { layOut } from "./layout";
import { Outline } from "./outline";
import { readPalette, type Palette } from "./palette";
import { EMPTY, shapeAt, shapeOf, type Scene, type Shape } from "./scene";
import type { Shading } from "./shading";

const READABLE = 0.8;
const NOTHING: ReadonlySet<string> = new Set();

export class GraphView {
  scene: Scene = EMPTY;
  palette: Palette = readPalette();
  shading: Shading | undefined;
  private hierarchy: Hierarchy | undefined;
  private open = new Set<string>();
  private selected: string | undefined;
  private found: ReadonlySet<string> = NOTHING;
  private camera: Camera = { x: 0, y: 0, scale: 1 };
  private readonly painter: Painter;
  private readonly outline: Outline;
  private frame = 0;
  /** Which layout was asked for last; those before it are too late. */
  private wanted = 0;

  /**
   * @param canvas what is drawn on
   * @param tree lies above it and takes the keyboard's focus
   * @param detail says what is selected
   * @param laidOut hears, with what can be seen, when a layout begins (false) and when its scene is there (true)
   */
  constructor(
    canvas: HTMLCanvasElement,
    readonly tree: HTMLElement,
    detail: HTMLElement,
    private readonly elk: ELK,
    private readonly laidOut: (done: boolean) => void,
  ) {
    this.painter = new Painter(canvas);
    this.outline = new Outline(tree, detail);
    for (const event of ["focus", "blur"]) {
      tree.addEventListener(event, () => {
        this.draw();
      });
    }
    new ResizeObserver(() => {
      this.painter.resize();
      this.draw();
    }).observe(canvas);
  }

  /** Shows another graph, or the same one traced anew: boxes that were open stay open then, and what is seen stays. */
  async show(hierarchy: Hierarchy, anew: boolean): Promise<void> {
    this.hierarchy = hierarchy;
    if (anew) {
      this.open = openAtFirst(hierarchy.root);
      this.selected = undefined;
    }
    await this.layOut();
    if (anew) {
      this.camera = atTop(this.scene, this.painter.size);
      this.draw();
    }
  }

  /** All items that can be seen, in the order of execution. */
  get items(): Item[] {
    return this.hierarchy ? visible(this.hierarchy.root, this.open) : [];
  }

  get selection(): Item | undefined {
    return this.items.find(({ id }) => id === this.selected);
  }

  /** Pixels of the view for one unit of the scene. */
  get scale(): number {
    return this.camera.scale;
  }

  isOpen(id: string): boolean {
    return this.open.has(id);
  }

  /** Selects an item that can be seen, and moves it into view. */
  select(id: string): void {
    this.selected = id;
    const shape = shapeOf(this.scene, id);
    if (shape && !this.inView(shape)) {
      this.camera = centred(shape, this.painter.size, Math.max(this.camera.scale, READABLE));
    }
    this.draw();
  }

  /** Opens the boxes around a node, selects it and shows it in the middle. */
  async reveal(name: string): Promise<void> {
    const leaf = this.hierarchy?.leaves.get(name);
    if (!leaf) {
      return;
    }
    const closed = around(leaf).filter(({ id }) => !this.open.has(id));
    if (closed.length > 0) {
      closed.forEach(({ id }) => this.open.add(id));
      await this.layOut();
    }
    this.selected = name;
    const shape = shapeOf(this.scene, name);
    if (shape) {
      this.camera = centred(shape, this.painter.size, Math.max(this.camera.scale, READABLE));
    }
    this.draw();
  }

  /** Marks what was found: nodes, or the closed boxes that they are in. */
  mark(found: ReadonlySet<string>): void {
    this.found = found;
    this.draw();
  }

  /** Shades the shapes by cost from now on, or no longer. */
  shade(shading: Shading | undefined): void {
    this.shading = shading;
    this.draw();
  }

  /** Opens or closes a box; its corner stays where it is on the screen. */
  async toggle(id: string): Promise<void> {
    if (!this.open.delete(id)) {
      this.open.add(id);
    }
    this.selected = id;
    const before = shapeOf(this.scene, id);
    await this.layOut();
    const after = shapeOf(this.scene, id);
    if (before && after) {
      const { scale } = this.camera;
      this.camera = panned(this.camera, (after.x - before.x) * scale, (after.y - before.y) * scale);
      this.draw();
    }
  }

  async openAll(): Promise<void> {
    this.open = new Set(this.hierarchy ? boxesIn(this.hierarchy.root).map(({ id }) => id) : []);
    await this.layOut();
    this.camera = atTop(this.scene, this.painter.size);
    this.draw();
  }

  async closeAll(): Promise<void> {
    this.open.clear();
    await this.layOut();
    this.camera = atTop(this.scene, this.painter.size);
    this.draw();
  }

  pan(right: number, down: number): void {
    this.camera = panned(this.camera, right, down);
    this.draw();
  }

  /** Zooms around a point of the view, or around its middle. */
  zoom(factor: number, at?: { x: number; y: number }): void {
    const { width, height } = this.painter.size;
    this.camera = zoomed(this.camera, factor, at ?? { x: width / 2, y: height / 2 });
    this.draw();
  }

  fit(): void {
    if (this.scene.width > 0) {
      this.camera = fitted(this.scene, this.painter.size);
      this.draw();
    }
  }

  /** The shape at a point of the view. */
  at(x: number, y: number): Shape | undefined {
    const { x: left, y: top, scale } = this.camera;
    return shapeAt(this.scene, left + x / scale, top + y / scale);
  }

  /** The theme has changed. */
  recolour(): void {
    this.palette = readPalette();
    this.draw();
  }

  private inView(shape: Shape): boolean {
    const { x, y, scale } = this.camera;
    const { width, height } = this.painter.size;
    const [left, top] = [(shape.x - x) * scale, (shape.y - y) * scale];
    return left >= 0 && top >= 0 && left + shape.width * scale <= width && top <= height - 20;
  }

  private async layOut(): Promise<void> {
    if (!this.hierarchy) {
      return;
    }
    const mine = ++this.wanted;
    this.laidOut(false);
    const scene = await layOut(this.elk, this.hierarchy, new Set(this.open));
    if (mine === this.wanted) {
      this.scene = scene;
      this.draw();
      this.laidOut(true);
    }
  }

  /** Draws with the next frame, however often this is called before. */
  private draw(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      const focused = document.activeElement === this.tree;
      this.painter.paint(this.scene, this.camera, this.palette, {
        selected: this.selected,
        found: this.found,
        focused,
        shading: this.shading,
      });
      this.outline.show(this.items, (id) => this.open.has(id), this.selected, this.shading);
    });
  }
}
