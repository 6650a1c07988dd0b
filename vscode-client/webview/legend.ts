/** The choice of a shade by cost, and what each shade means. */
import type { Hierarchy } from "./hierarchy";
import { paintAt, type Palette } from "./palette";
import { Shading, type Cost } from "./shading";

const TITLES: Record<Cost, string> = {
  flops: "Share of the counted FLOPs",
  bytes: "Share of the counted bytes of results",
};

export class Legend {
  private hierarchy: Hierarchy | undefined;
  private shading: Shading | undefined;

  /**
   * @param choice has a value for each `Cost`, and "" for none
   * @param element is empty; the legend goes there
   * @param chosen hears of another shading
   */
  constructor(
    private readonly choice: HTMLSelectElement,
    private readonly element: HTMLElement,
    private readonly palette: () => Palette,
    private readonly chosen: (shading: Shading | undefined) => void,
  ) {
    choice.addEventListener("change", () => {
      this.update();
    });
  }

  /** Shades another graph from now on. */
  show(hierarchy: Hierarchy): void {
    this.hierarchy = hierarchy;
    this.update();
  }

  /** Draws the legend in the colours of the theme. */
  draw(): void {
    const { shading, element } = this;
    const cost = this.choice.value as Cost | "";
    element.hidden = cost === "";
    const heading = document.createElement("p");
    if (cost !== "") {
      heading.textContent = shading ? TITLES[cost] : "Nothing was counted";
    }
    element.replaceChildren(heading, ...(shading ? [this.levels(shading)] : []));
  }

  private update(): void {
    const cost = this.choice.value as Cost | "";
    const shading = this.hierarchy && cost !== "" ? new Shading(this.hierarchy, cost) : undefined;
    this.shading = shading?.isKnown ? shading : undefined;
    this.draw();
    this.chosen(this.shading);
  }

  private levels(shading: Shading): HTMLElement {
    const list = document.createElement("ul");
    const palette = this.palette();
    for (const [level, text] of shading.legend.entries()) {
      const swatch = document.createElement("span");
      swatch.style.background = paintAt(level, palette).fill;
      const item = list.appendChild(document.createElement("li"));
      item.append(swatch, text);
    }
    return list;
  }
}
