/** What the editor's language status says of the tracing process. */
import type { Disposable } from "vscode";

/** The server's `fxLsp/status` notification, as far as it is shown. */
export interface Status {
  phase: "starting" | "ready" | "busy" | "paused" | "no-torch" | "failed" | "stopped";
  /** Whether the user has paused tracing; the phase tells only while nothing else is to be told. */
  paused?: boolean;
  /** One line for a person: versions, or what is wrong and what to do. */
  message: string;
  python?: string | null;
  torch?: string | null;
}

/** Before anything is known. */
export const STARTING: Status = { phase: "starting", message: "Starting" };

const RESTRICTED = {
  text: "fx-lsp: tracing is off",
  detail: "This workspace is not trusted. To trace a model, fx-lsp would have to run code from the workspace.",
};

// The values of vscode.LanguageStatusSeverity, which exists only inside VS Code.
const INFORMATION = 0;
const WARNING = 1;
const ERROR = 2;

const APPEARANCE = {
  starting: { text: "fx-lsp: starting", severity: INFORMATION, busy: true },
  ready: { text: "fx-lsp: ready", severity: INFORMATION, busy: false },
  busy: { text: "fx-lsp: tracing", severity: INFORMATION, busy: true },
  paused: { text: "fx-lsp: paused", severity: INFORMATION, busy: false },
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

/** @param trusted whether code of the workspace may run; where it may not, no tracing process has a status. */
export function appearance(status: Status, trusted: boolean): Appearance {
  if (!trusted && status.phase !== "failed") {
    return { ...RESTRICTED, busy: false, severity: WARNING };
  }
  return { ...APPEARANCE[status.phase], detail: status.message };
}

/** How long work goes on before it is shown: what is done within a pause between two keys would only flicker. */
const SHOWN_AFTER_MS = 1_000;

/**
 * Shows the status in `item`. VS Code moves the status bar's icon whenever a property is set, and draws what is typed
 * later while anything moves: so only what changes is set.
 */
export class StatusLine implements Disposable {
  private waiting: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly item: Partial<Appearance>) {}

  /** Shows that work has begun once it has gone on for a while, anything else at once. */
  show(next: Appearance): void {
    this.dispose();
    if (next.busy && !this.item.busy) {
      this.waiting = setTimeout(() => {
        this.write(next);
      }, SHOWN_AFTER_MS);
    } else {
      this.write(next);
    }
  }

  dispose(): void {
    clearTimeout(this.waiting);
  }

  private write(next: Appearance): void {
    const changes = Object.entries(next).filter(([name, value]) => this.item[name as keyof Appearance] !== value);
    Object.assign(this.item, Object.fromEntries(changes));
  }
}
