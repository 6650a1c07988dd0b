/** What the graph's page and the extension say to each other. */
import type { Graph } from "../protocol";

/** Kept by VS Code while the page is hidden, and over a restart of the window. */
export interface PageState {
  uri: string;
  target: string;
  /** What is entered in the field for another input; states of older versions have none. */
  inputs?: string;
}

/** The graph to show from now on. */
export interface ToPage {
  graph: Graph;
  state: PageState;
}

export type FromPage =
  | { type: "ready" }
  | { type: "node"; name: string }
  | { type: "failure"; index: number }
  | { type: "inputs"; inputs: string }
  | { type: "save"; format: "svg" | "dot"; text: string };
