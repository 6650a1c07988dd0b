/** Generated forwards as read-only documents, `fx-forward:/Net.forward.py?{…}`, each as it is now or as it once was. */
import * as vscode from "vscode";
import type { Changed, Forward } from "../protocol";
import type { Server } from "../server";

export const SCHEME = "fx-forward";

/** Which forward: of a file's target, as it is now or, with `version`, as it was kept. */
export interface ForwardId {
  uri: string;
  target: string;
  /** The exported program instead of the forward. */
  capture?: "export";
  version?: number;
}

/** A text that the forward of a target had. */
export interface Version {
  text: string;
  since: Date;
}

/** Older texts of one target are forgotten. */
const MOST_VERSIONS = 20;

interface Kept {
  forward: Forward;
  versions: Version[];
}

export class ForwardDocuments implements vscode.TextDocumentContentProvider {
  private readonly kept = new Map<string, Kept>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;

  constructor(private readonly server: Server) {}

  register(): vscode.Disposable {
    return vscode.Disposable.from(
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      this.server.onDidChangeTargets((changed) => void this.refresh(changed)),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => {
        if (uri.scheme === SCHEME && !isOpen(idOf(uri))) {
          this.kept.delete(keyOf(idOf(uri)));
        }
      }),
    );
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const { version, ...id } = idOf(uri);
    if (version !== undefined) {
      return this.versions(id)[version]?.text ?? "";
    }
    return shownText(await this.fetch(id), id);
  }

  /** What the server knows now. */
  async fetch(id: ForwardId): Promise<Forward | null> {
    const { uri, target, capture } = id;
    const forward = await this.server.request<Forward>("fx/forward", { textDocument: { uri }, target, capture });
    if (forward) {
      this.keep(id, forward);
    }
    return forward;
  }

  /** What was fetched last. */
  latest(id: ForwardId): Forward | undefined {
    return this.kept.get(keyOf(id))?.forward;
  }

  /** All texts that were fetched, the oldest first. */
  versions(id: ForwardId): Version[] {
    return this.kept.get(keyOf(id))?.versions ?? [];
  }

  private keep(id: ForwardId, forward: Forward): void {
    const kept = this.kept.get(keyOf(id)) ?? { forward, versions: [] };
    kept.forward = forward;
    if (forward.text && kept.versions.at(-1)?.text !== forward.text) {
      kept.versions.push({ text: forward.text, since: new Date() });
      kept.versions.splice(0, kept.versions.length - MOST_VERSIONS);
    }
    this.kept.set(keyOf(id), kept);
  }

  private async refresh({ textDocument, targets }: Changed): Promise<void> {
    for (const { uri } of vscode.workspace.textDocuments.filter(({ uri }) => uri.scheme === SCHEME)) {
      const id = idOf(uri);
      if (id.version === undefined && id.uri === textDocument.uri && targets.includes(id.target)) {
        await this.fetch(id);
        this.changed.fire(uri);
      }
    }
  }
}

/** The address of a forward's document; `title` is what its tab shows. */
export function uriOf(id: ForwardId, title: string): vscode.Uri {
  const name = title.replace(/[^\p{L}\p{N}_().,=-]+/gu, " ").trim();
  return vscode.Uri.from({ scheme: SCHEME, path: `/${name}.${id.capture ?? "forward"}.py`, query: JSON.stringify(id) });
}

export function idOf(uri: vscode.Uri): ForwardId {
  return JSON.parse(uri.query) as ForwardId;
}

function keyOf({ uri, target, capture }: ForwardId): string {
  return `${uri}\n${target}\n${capture ?? ""}`;
}

function isOpen(id: ForwardId): boolean {
  return vscode.workspace.textDocuments.some(
    ({ uri, isClosed }) => !isClosed && uri.scheme === SCHEME && keyOf(idOf(uri)) === keyOf(id),
  );
}

function shownText(forward: Forward | null, { capture }: ForwardId): string {
  if (!forward) {
    return "# There is no longer anything with this name to trace.\n";
  }
  const { title, summary, outcome } = forward.target;
  if (capture && !forward.text) {
    return `# ${title} has no exported program: ${summary}\n`;
  }
  const why =
    outcome === "failed"
      ? "# Only a successful trace generates a forward. The graph shows what could be recorded.\n"
      : "";
  return forward.text || `# ${title} has no generated forward: ${summary || "not traced yet"}\n${why}`;
}
