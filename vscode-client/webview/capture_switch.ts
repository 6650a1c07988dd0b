/** The choice of the capture whose graph is shown. */
import type { Capture, Graph } from "../src/protocol";

export class CaptureSwitch {
  /**
   * @param label holds the choice, and is hidden where there is only one
   * @param chosen hears which capture is chosen
   */
  constructor(
    private readonly label: HTMLElement,
    private readonly select: HTMLSelectElement,
    chosen: (capture: Capture) => void,
  ) {
    select.addEventListener("change", () => {
      chosen(select.value as Capture);
    });
  }

  show({ capture, captures }: Graph): void {
    const offered = captures.includes(capture) ? captures : [...captures, capture];
    this.label.hidden = offered.length < 2;
    this.select.replaceChildren(...offered.map((name) => new Option(name, name, false, name === capture)));
  }
}
