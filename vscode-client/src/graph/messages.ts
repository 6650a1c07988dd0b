/** What the graph's page and the extension say to each other. */
import type { Capture, Graph } from "../protocol";

/** Kept by VS Code while the page is hidden, and over a restart of the window. */
export interface PageState {
  uri: string;
  target: string;
  /** What is entered in the field for another input; states of older versions have none. */
  inputs?: string;
  /** Whose graph is shown; states of older versions have none, which means "fx". */
  capture?: Capture;
}

/** The graph to show from now on, or why there is none. */
export type ToPage = { state: PageState } & ({ graph: Graph } | { missing: string });

export type FromPage =
  | { type: "ready" }
  | { type: "node"; name: string }
  | { type: "failure"; index: number }
  | { type: "inputs"; inputs: string }
  | { type: "capture"; capture: Capture }
  | { type: "save"; format: "svg" | "dot"; text: string };
