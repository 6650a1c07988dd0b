/** What the editor's language status says of the tracing process. */
/** The server's `fxLsp/status` notification, as far as it is shown. */
export interface Status {
  phase: "starting" | "ready" | "busy" | "no-torch" | "failed" | "stopped";
  /** One line for a person: versions, or what is wrong and what to do. */
  message: string;
}

// The values of vscode.LanguageStatusSeverity, which exists only inside VS Code.
const INFORMATION = 0;
const WARNING = 1;
const ERROR = 2;

const APPEARANCE = {
  starting: { text: "fx-lsp: starting", severity: INFORMATION, busy: true },
  ready: { text: "fx-lsp: ready", severity: INFORMATION, busy: false },
  busy: { text: "fx-lsp: tracing", severity: INFORMATION, busy: true },
  "no-torch": { text: "fx-lsp: no usable PyTorch", severity: WARNING, busy: false },
  failed: { text: "fx-lsp: failed", severity: ERROR, busy: false },
  stopped: { text: "fx-lsp: idle", severity: INFORMATION, busy: false },
} satisfies Record<Status["phase"], unknown>;

/** The properties of a `vscode.LanguageStatusItem` that change with the status. */
export interface Appearance {
  text: string;
  detail: string;
  busy: boolean;
  severity: number;
}

export function appearance(status: Status): Appearance {
  return { ...APPEARANCE[status.phase], detail: status.message };
}
