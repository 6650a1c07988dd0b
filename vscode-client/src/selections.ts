/** The selected interpreters that the client sends to the server; each server that starts gets those known by then. */
import type { Uri } from "vscode";
import type { Interpreters } from "./interpreter";
import type { Python } from "./python";

/** The parameters of `fx/interpreterChanged`. */
export interface Selection {
  /** A workspace folder; null: for files that are in none. */
  folder: string | null;
  /** Empty where none is selected. The server has to be told so: else it would go by what it knew before. */
  interpreter: Python;
}

/** The part of `vscode.workspace` that is read. */
export interface Workspace {
  readonly isTrusted: boolean;
  readonly workspaceFolders: readonly { readonly uri: Uri }[] | undefined;
}

export class Selections {
  private known: readonly Selection[] = [];
  private asked = 0;

  constructor(
    private readonly interpreters: Interpreters,
    private readonly workspace: Workspace,
  ) {}

  /** What was known last: for files in no folder, then for each folder. */
  get all(): readonly Selection[] {
    return this.known;
  }

  /** The one for files in no folder. */
  get general(): Python {
    return this.known[0]?.interpreter ?? [];
  }

  /** Asks for all anew. False if this was asked once more meanwhile: the later answer is the one that counts. */
  async renew(): Promise<boolean> {
    const turn = ++this.asked;
    const folders = this.workspace.workspaceFolders?.map(({ uri }) => uri) ?? [];
    const general = this.selection(null, folders[0]);
    const found = await Promise.all([general, ...folders.map((uri) => this.selection(uri.toString(), uri))]);
    if (turn !== this.asked) {
      return false;
    }
    this.known = found;
    return true;
  }

  /** An interpreter that is selected may be the workspace's own: nothing runs it before the workspace is trusted. */
  private async selection(folder: string | null, uri: Uri | undefined): Promise<Selection> {
    return { folder, interpreter: this.workspace.isTrusted ? await this.interpreters.selected(uri) : [] };
  }
}
