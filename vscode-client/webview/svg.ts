/** A scene as a picture of its own. */
import { FONT, HEADER } from "./layout";
import { paintAt, type Palette } from "./palette";
import type { Line, Scene, Shape } from "./scene";
import type { Shading } from "./shading";

const MARGIN = 20;

/** @param shading how shapes are shaded by cost; left out, they are not */
export function toSvg(scene: Scene, palette: Palette, title: string, shading?: Shading): string {
  const [width, height] = [scene.width + 2 * MARGIN, scene.height + 2 * MARGIN].map(Math.ceil);
  const box = `${String(-MARGIN)} ${String(-MARGIN)} ${String(width)} ${String(height)}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${String(width)}" height="${String(height)}" viewBox="${box}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>text{font:${String(FONT.size)}px ${FONT.family};fill:${palette.text}}.quiet{fill:${palette.quiet}}.name{font-weight:bold}</style>`,
    `<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">`,
    `<path d="M0 1 8 4 0 7z" fill="${palette.quiet}"/></marker></defs>`,
    `<rect x="${String(-MARGIN)}" y="${String(-MARGIN)}" width="100%" height="100%" fill="${palette.background}"/>`,
    ...scene.shapes.map((shape) => shapeElement(shape, palette, shading)),
    ...scene.lines.map((line) => lineElement(line, palette)),
    "</svg>",
    "",
  ].join("\n");
}

function shapeElement(shape: Shape, palette: Palette, shading: Shading | undefined): string {
  const { item, open, x, y, width, height, title, subtitle } = shape;
  const ends = item.kind === "node" && (item.node.op === "placeholder" || item.node.op === "output");
  const paint = paintAt(shading?.level(item) ?? 0, palette);
  const fill = open ? palette.box : paint.fill;
  const border = item.failing ? `stroke="${palette.failing}" stroke-dasharray="6 3"` : `stroke="${palette.quiet}"`;
  const place = `x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"`;
  const rectangle = `<rect ${place} rx="${ends ? round(height / 2) : "3"}" fill="${fill}" ${border}/>`;
  const name = escaped((item.failing ? "✗ " : "") + title);
  if (open) {
    return `${rectangle}<text class="name" x="${round(x + 8)}" y="${round(y + HEADER / 2 + 4)}">${name}</text>`;
  }
  const middle = `x="${round(x + width / 2)}" text-anchor="middle"`;
  return [
    rectangle,
    `<text class="name" ${middle} y="${round(y + 17)}" style="fill:${paint.text}">${name}</text>`,
    `<text ${middle} y="${round(y + 32)}" style="fill:${paint.quiet}">${escaped(shading?.share(item) ?? subtitle)}</text>`,
  ].join("");
}

function lineElement({ points, label }: Line, palette: Palette): string {
  const path = `<polyline points="${points.map(round).join(" ")}" fill="none" stroke="${palette.quiet}" marker-end="url(#arrow)"/>`;
  const [x = 0, y = 0] = points;
  return label
    ? `${path}<text class="quiet" text-anchor="middle" x="${round(x)}" y="${round(y + 17)}">${escaped(label)}</text>`
    : path;
}

function round(number: number): string {
  return String(Math.round(number * 10) / 10);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
