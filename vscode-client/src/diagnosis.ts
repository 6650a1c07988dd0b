/** What a person who helps with a problem asks first, as a document. */
import * as vscode from "vscode";
import type { Interpreters } from "./interpreter";
import { SECTION, type Server } from "./server";
import { STARTING, type Status } from "./status";

const SCHEME = "fx-debug";
const DOCUMENT = vscode.Uri.from({ scheme: SCHEME, path: "/fx-lsp debug information.md" });

export class Diagnosis implements vscode.TextDocumentContentProvider {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private status: Status = STARTING;

  constructor(
    private readonly version: string,
    private readonly server: Server,
    private readonly interpreters: Interpreters,
  ) {}

  /** Tells another status from now on. */
  show(status: Status): void {
    this.status = status;
    this.refresh();
  }

  register(): vscode.Disposable {
    return vscode.Disposable.from(this.changed, vscode.workspace.registerTextDocumentContentProvider(SCHEME, this));
  }

  async open(): Promise<void> {
    this.refresh();
    await vscode.window.showTextDocument(DOCUMENT, { preview: true });
  }

  /** The document says something else now, should it be open. */
  private refresh(): void {
    this.changed.fire(DOCUMENT);
  }

  async provideTextDocumentContent(): Promise<string> {
    const { phase, message, python, torch } = this.status;
    const rows = {
      "fx-lsp": this.version,
      "VS Code": `${vscode.version}, ${vscode.env.appName}, ${vscode.env.remoteName ?? "local"}`,
      platform: `${process.platform} ${process.arch}`,
      "workspace trusted": vscode.workspace.isTrusted ? "yes" : "no",
      "Python that runs the server": this.server.python.join(" ") || "nothing",
      "tracing process": `${phase}: ${message}`,
      "Python that traces your models": python ?? "unknown",
      "PyTorch that traces your models": torch ?? "unknown",
      ...(await this.selected()),
    };
    const lines = Object.entries(rows).map(([name, value]) => `- ${name}: ${value}`);
    return ["# fx-lsp debug information", "", ...lines, "", "## Settings", "", "```json", settings(), "```", ""].join(
      "\n",
    );
  }

  private async selected(): Promise<Record<string, string>> {
    const rows: Record<string, string> = {};
    for (const { name, uri } of vscode.workspace.workspaceFolders ?? []) {
      const python = await this.interpreters.selected(uri);
      rows[`interpreter selected for ${name}`] = python.join(" ") || "none";
    }
    return rows;
  }
}

/** Our settings, without the values of environment variables: these may be secret. */
function settings(): string {
  const { env, ...others } = vscode.workspace.getConfiguration().get<Record<string, unknown>>(SECTION, {});
  const names = Object.keys((env as object | undefined) ?? {});
  return JSON.stringify({ env: Object.fromEntries(names.map((name) => [name, "…"])), ...others }, null, 2);
}
