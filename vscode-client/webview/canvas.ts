/** Draws the part of a scene that is in view. */
import { seen, type Camera } from "./camera";
import { FONT, HEADER } from "./layout";
import { paintAt, type Palette } from "./palette";
import { extent, overlap, type Line, type Place, type Scene, type Shape } from "./scene";
import { LEVELS, type Shading } from "./shading";

export interface Marks {
  selected: string | undefined;
  found: ReadonlySet<string>;
  focused: boolean;
  /** None where shapes are not shaded by cost. */
  shading: Shading | undefined;
}

/** Below these sizes, in pixels for one unit, details would be smaller than can be seen. */
const TEXT_FROM = 0.4;
const LABELS_FROM = 0.55;
const ARROWS_FROM = 0.25;
const ARROW = 7;
const LABEL_BELOW = 13;

export class Painter {
  private readonly context: CanvasRenderingContext2D;
  /** The extent of each line, which no frame should have to find anew. */
  private readonly extents = new WeakMap<Line, Place>();

  constructor(private readonly canvas: HTMLCanvasElement) {
    const context = canvas.getContext("2d");
    if (!context) {
      throw new Error("This page can't draw.");
    }
    this.context = context;
  }

  /** The size of the canvas in CSS pixels. */
  get size(): { width: number; height: number } {
    return { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
  }

  /** Makes as many pixels as the screen has there. */
  resize(): void {
    this.canvas.width = Math.round(this.canvas.clientWidth * devicePixelRatio);
    this.canvas.height = Math.round(this.canvas.clientHeight * devicePixelRatio);
  }

  paint(scene: Scene, camera: Camera, palette: Palette, marks: Marks): void {
    const { context } = this;
    const { scale } = camera;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = palette.background;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    const pixels = scale * devicePixelRatio;
    context.setTransform(pixels, 0, 0, pixels, -camera.x * pixels, -camera.y * pixels);

    const view = seen(camera, this.size);
    const shapes = scene.shapes.filter((shape) => overlap(shape, view));
    const lines = scene.lines.filter((line) => overlap(this.extentOf(line), view));
    this.shapes(shapes, palette, marks, scale);
    this.lines(lines, palette, marks, scale);
    this.marks(shapes, palette, marks, scale);
    if (scale >= TEXT_FROM) {
      shapes.forEach((shape) => {
        this.text(shape, palette, marks);
      });
    }
    if (scale >= LABELS_FROM) {
      this.labels(lines, palette);
    }
  }

  private extentOf(line: Line): Place {
    const known = this.extents.get(line) ?? extent(line);
    this.extents.set(line, known);
    return known;
  }

  private shapes(shapes: Shape[], palette: Palette, { shading }: Marks, scale: number): void {
    const { context } = this;
    const closed = shapes.filter(({ open }) => !open);
    context.lineWidth = Math.max(1, 0.5 / scale);
    context.strokeStyle = palette.quiet;
    this.fill(
      shapes.filter(({ open }) => open),
      palette.box,
    );
    for (let level = 0; level <= LEVELS; level++) {
      const { fill } = paintAt(level, palette);
      this.fill(
        closed.filter(({ item }) => (shading?.level(item) ?? 0) === level),
        fill,
      );
    }
  }

  /** With one path for all, which takes a fraction of the time of one for each. */
  private fill(shapes: Shape[], colour: string): void {
    const { context } = this;
    context.beginPath();
    for (const shape of shapes) {
      outline(context, shape);
    }
    context.fillStyle = colour;
    context.fill();
    context.stroke();
  }

  private lines(lines: Line[], palette: Palette, { selected }: Marks, scale: number): void {
    const touching = (line: Line) => line.from === selected || line.to === selected;
    this.strokeLines(
      lines.filter((line) => !touching(line)),
      palette.quiet,
      Math.max(1, 0.6 / scale),
      scale,
    );
    this.strokeLines(lines.filter(touching), palette.selected, Math.max(2.5, 1.5 / scale), scale);
  }

  private strokeLines(lines: Line[], colour: string, width: number, scale: number): void {
    const { context } = this;
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    for (const { points } of lines) {
      context.moveTo(...corner(points, 0));
      for (let index = 2; index < points.length; index += 2) {
        context.lineTo(...corner(points, index));
      }
    }
    context.stroke();
    if (scale >= ARROWS_FROM) {
      context.beginPath();
      lines.forEach(({ points }) => {
        arrow(context, points);
      });
      context.fill();
    }
  }

  /** What is selected, found or fails, each with a border of its own kind: nobody has to tell colours apart. */
  private marks(shapes: Shape[], palette: Palette, marks: Marks, scale: number): void {
    const { context } = this;
    const border = (shape: Shape, colour: string, width: number, dashes: number[], gap: number) => {
      context.strokeStyle = colour;
      context.lineWidth = Math.max(width, width / 2 / scale);
      context.setLineDash(dashes);
      context.beginPath();
      outline(context, grown(shape, gap));
      context.stroke();
      context.setLineDash([]);
    };
    for (const shape of shapes) {
      if (shape.item.failing) {
        border(shape, palette.failing, 2, [6, 3], 0);
      }
      if (marks.found.has(shape.item.id)) {
        border(shape, palette.found, 2, [2, 2], 3);
      }
      if (shape.item.id === marks.selected) {
        border(shape, palette.selected, marks.focused ? 3 : 2, [], 2);
      }
    }
  }

  private text(shape: Shape, palette: Palette, { shading }: Marks): void {
    const { context } = this;
    const { item, open, x, y, width } = shape;
    const fold = item.kind === "box" ? (open ? "▾ " : "▸ ") : "";
    const title = `${item.failing ? "✗ " : ""}${fold}${shape.title}`;
    context.textBaseline = "middle";
    context.textAlign = open ? "left" : "center";
    context.font = `bold ${String(FONT.size)}px ${FONT.family}`;
    if (open) {
      context.fillStyle = palette.text;
      context.fillText(title, x + 8, y + HEADER / 2);
      return;
    }
    const { text, quiet } = paintAt(shading?.level(item) ?? 0, palette);
    context.fillStyle = text;
    context.fillText(title, x + width / 2, y + 13);
    context.font = `${String(FONT.size)}px ${FONT.family}`;
    context.fillStyle = quiet;
    context.fillText(shading?.share(item) ?? shape.subtitle, x + width / 2, y + 28);
  }

  /** The value that goes along a line, on its beginning; once where several lines begin. */
  private labels(lines: Line[], palette: Palette): void {
    const { context } = this;
    context.font = `${String(FONT.size - 1)}px ${FONT.family}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const labelled = new Set<string>();
    for (const { from, points, label } of lines) {
      if (label && !labelled.has(from)) {
        labelled.add(from);
        const [x, y] = corner(points, 0);
        const width = label.length * (FONT.width - 0.6) + 4;
        context.fillStyle = palette.background;
        context.fillRect(x - width / 2, y + LABEL_BELOW - FONT.size / 2, width, FONT.size);
        context.fillStyle = palette.quiet;
        context.fillText(label, x, y + LABEL_BELOW);
      }
    }
  }
}

function corner(points: number[], index: number): [number, number] {
  return [points[index] ?? 0, points[index + 1] ?? 0];
}

/** Inputs and outputs have round ends, boxes and other nodes do not. */
function outline(context: CanvasRenderingContext2D, { item, x, y, width, height }: Shape): void {
  const round = item.kind === "node" && (item.node.op === "placeholder" || item.node.op === "output");
  context.roundRect(x, y, width, height, round ? height / 2 : 3);
}

function grown(shape: Shape, by: number): Shape {
  const { x, y, width, height } = shape;
  return { ...shape, x: x - by, y: y - by, width: width + 2 * by, height: height + 2 * by };
}

function arrow(context: CanvasRenderingContext2D, points: number[]): void {
  const [x, y] = corner(points, points.length - 2);
  const [fromX, fromY] = corner(points, points.length - 4);
  const angle = Math.atan2(y - fromY, x - fromX);
  context.moveTo(x, y);
  for (const side of [-0.45, 0.45]) {
    context.lineTo(x - ARROW * Math.cos(angle + side), y - ARROW * Math.sin(angle + side));
  }
  context.closePath();
}
