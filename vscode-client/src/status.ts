/** What the editor's language status says of the tracing process. */
import type { LanguageStatusItem } from "vscode";

/** The server's `fxLsp/status` notification. */
export interface Status {
  phase: "starting" | "ready" | "busy" | "no-torch" | "failed" | "stopped";
  /** One sentence for a person; null where the phase says it all. */
  message?: string | null;
  /** Versions in the interpreter that imports the user's models, once known. */
  python?: string | null;
  torch?: string | null;
}

/** A status as it is shown. `severity` has the values of `vscode.LanguageStatusSeverity`. */
export interface Presentation {
  text: string;
  detail: string;
  busy: boolean;
  severity: 0 | 1 | 2;
}

const INFORMATION = 0;
const WARNING = 1;
const ERROR = 2;

/** How `status` reads in the language status. */
export function present(status: Status): Presentation {
  const detail = status.message ?? "";
  const shown = (text: string, severity: Presentation["severity"] = INFORMATION): Presentation => ({
    text,
    detail,
    busy: status.phase === "starting" || status.phase === "busy",
    severity,
  });
  switch (status.phase) {
    case "starting":
      return shown("fx-lsp: starting");
    case "ready":
    case "busy":
      return shown(versions(status));
    case "no-torch":
      return shown("fx-lsp: no usable torch", WARNING);
    case "failed":
      return shown("fx-lsp: failed", ERROR);
    case "stopped":
      return shown("fx-lsp: stopped", WARNING);
  }
}

function versions({ torch, python }: Status): string {
  const known = [torch && `torch ${torch}`, python && `Python ${python}`].filter(Boolean);
  return known.length > 0 ? known.join(", ") : "fx-lsp";
}

/** Shows `status` in `item`. */
export function show(item: LanguageStatusItem, status: Status): void {
  Object.assign(item, present(status));
}
