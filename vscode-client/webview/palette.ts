/** The colours of the theme that the editor has now. */
import { mixed, readableOn } from "./colours";
import { LEVELS } from "./shading";

export interface Palette {
  background: string;
  text: string;
  /** Second lines, labels, borders and lines: readable on the background in every theme. */
  quiet: string;
  shape: string;
  box: string;
  selected: string;
  failing: string;
  found: string;
  /** What the shade of the costliest items tends to. */
  costly: string;
}

/** For each colour the theme's own names for it, the best first. */
const NAMES: Record<keyof Palette, string[]> = {
  background: ["--vscode-editor-background"],
  text: ["--vscode-editor-foreground", "--vscode-foreground"],
  quiet: ["--vscode-descriptionForeground", "--vscode-editor-foreground"],
  shape: ["--vscode-editorWidget-background", "--vscode-editor-background"],
  box: ["--vscode-sideBar-background", "--vscode-editor-background"],
  selected: ["--vscode-focusBorder", "--vscode-editor-foreground"],
  failing: ["--vscode-errorForeground", "--vscode-editor-foreground"],
  found: ["--vscode-charts-orange", "--vscode-focusBorder"],
  costly: ["--vscode-charts-blue", "--vscode-editor-foreground"],
};

export function readPalette(): Palette {
  const style = getComputedStyle(document.body);
  const colour = (names: string[]) => names.map((name) => style.getPropertyValue(name).trim()).find(Boolean) ?? "";
  return Object.fromEntries(Object.entries(NAMES).map(([key, names]) => [key, colour(names)])) as unknown as Palette;
}

export interface Paint {
  fill: string;
  /** Of the title. */
  text: string;
  /** Of the second line. */
  quiet: string;
}

/** How a closed shape is painted at a level of shade: at 0, as without a shade. */
export function paintAt(level: number, palette: Palette): Paint {
  if (level === 0) {
    return { fill: palette.shape, text: palette.text, quiet: palette.quiet };
  }
  const fill = mixed(palette.shape, palette.costly, level / LEVELS);
  const text = readableOn(fill);
  return { fill, text, quiet: text };
}
