/** The field for another example input: shapes and costs are for what is entered there. */
import type { Graph } from "../src/protocol";

/** What is shown in the field while it is empty, and beside it. */
export interface FieldTexts {
  placeholder: string;
  status: string;
  isInvalid: boolean;
}

export function fieldTexts({ input, chosen }: Graph): FieldTexts {
  return {
    placeholder: input ?? "torch.rand(1, 3, 224, 224)",
    status: chosen?.problem ? `Not counted: ${chosen.problem}` : chosen?.pending ? "Counting…" : "",
    isInvalid: Boolean(chosen?.problem),
  };
}

export class InputField {
  /** What was last entered; undefined until the first graph is shown. */
  private entered: string | undefined;

  /**
   * @param label holds the input, and is hidden where no input matters
   * @param chosen hears of what is entered: "" for the input that fx-lsp finds
   */
  constructor(
    private readonly label: HTMLElement,
    private readonly input: HTMLInputElement,
    private readonly status: HTMLElement,
    private readonly chosen: (inputs: string) => void,
  ) {
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        this.enter();
      } else if (event.key === "Escape") {
        input.value = this.entered ?? "";
      }
    });
    input.addEventListener("input", () => {
      if (input.value.trim() === "") {
        this.enter();
      }
    });
  }

  /** @param inputs what the graph was asked for; the field of a page that starts anew shows it */
  show(graph: Graph, inputs: string): void {
    const { placeholder, status, isInvalid } = fieldTexts(graph);
    this.entered ??= this.input.value = inputs;
    // A target that fails has no shapes, whatever its input is; another capture's are for the input that it was made for.
    this.label.hidden = graph.outcome !== "traced" || graph.capture !== "fx";
    this.input.placeholder = placeholder;
    this.input.setAttribute("aria-invalid", String(isInvalid));
    this.status.textContent = this.label.hidden ? "" : status;
    this.status.title = status;
  }

  private enter(): void {
    const inputs = this.input.value.trim();
    if (inputs !== this.entered) {
      this.entered = inputs;
      this.chosen(inputs);
    }
  }
}
