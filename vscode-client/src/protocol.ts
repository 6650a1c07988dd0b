/** What the server answers beyond LSP: docs/protocol.md has the meaning of each field. */
import type { Location, Position, Range } from "vscode-languageserver-protocol";

/** A way to get a graph of a model. */
export type Capture = "fx" | "export" | "compile";

export interface TargetParams {
  textDocument: { uri: string };
  target?: string;
  position?: Position;
  /** For `fx/forward`: the exported program instead of the forward. */
  capture?: "export";
}

export interface GraphParams extends Omit<TargetParams, "capture"> {
  /** The input that shapes and costs are to be for. */
  inputs?: string;
  /** Whose graph. */
  capture?: Capture;
}

export interface Target {
  key: string;
  title: string;
  range: Range | null;
  outcome: string | null;
  summary: string;
}

export interface Forward {
  target: Target;
  text: string;
  lines: { line: number; node: string; source: Location | null }[];
  stale: boolean;
}

export interface Module {
  target: Target;
  text: string | null;
  stale: boolean;
}

export interface GraphNode {
  name: string;
  op: "placeholder" | "get_attr" | "call_function" | "call_method" | "call_module" | "output";
  target: string;
  inputs: string[];
  users: string[];
  scope: string;
  module: string;
  source: Location | null;
  line: number | null;
  value: string;
  shape: string[] | null;
  dtype: string | null;
  flops: number | null;
  bytes: number | null;
}

export interface ModuleCall {
  path: string;
  type: string;
  depth: number;
  parameters: { name: string; count: number }[];
}

export interface ModuleCosts {
  path: string;
  parameters: number;
  flops: number | null;
  activations: number | null;
  peak: number | null;
}

export interface Costs {
  input: string;
  atLeast: boolean;
  limits: string[];
  modules: ModuleCosts[];
}

export interface TraceFailure {
  message: string;
  code: string;
  location: Location | null;
  nodes: string[];
}

export interface Graph {
  target: Target;
  capture: Capture;
  /** Those whose result is known. */
  captures: Capture[];
  outcome: string | null;
  stale: boolean;
  input: string | null;
  symbols: Record<string, number>;
  parameters: number;
  nodes: GraphNode[];
  order: ModuleCall[];
  costs: Costs | null;
  /** What comes of the `inputs` of the request. */
  chosen: { pending: boolean; problem: string | null } | null;
  failures: TraceFailure[];
}

/** `fx/changed`: the answers for these targets may be others than before. */
export interface Changed {
  textDocument: { uri: string };
  targets: string[];
}

/** The argument of the commands that a lens calls. */
export interface LensArgument {
  uri: string;
  target: string;
  position: Position;
  locations: Location[];
  capture?: "export";
}
