/** Opens generated forwards beside the source, compares and copies them. */
import * as vscode from "vscode";
import type { Forward, LensArgument, Module, TargetParams } from "../protocol";
import type { Server } from "../server";
import { ask } from "../sources";
import { captureOf, pickTarget, sayNothingToTrace, targetParams } from "../targets";
import { uriOf, type ForwardDocuments, type ForwardId } from "./documents";

interface Found {
  id: ForwardId;
  title: string;
}

export class ForwardCommands {
  constructor(
    private readonly server: Server,
    private readonly documents: ForwardDocuments,
  ) {}

  /** Opens a target's forward in the column beside, and leaves the cursor where it is. */
  async open(argument?: Partial<LensArgument>): Promise<void> {
    const found = await this.find(targetParams(argument));
    if (found) {
      const options = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: true };
      await vscode.window.showTextDocument(uriOf(found.id, found.title), options);
    }
  }

  /** Shows the difference between a target's forward and one it had before, or that of another target of the file. */
  async compare(argument?: Partial<LensArgument>): Promise<void> {
    const found = await this.find(targetParams(argument));
    const other = found && (await this.pickOther(found));
    if (found && other) {
      const title = `${other.title} ↔ ${found.title}`;
      const [left, right] = [uriOf(other.id, other.title), uriOf(found.id, found.title)];
      await vscode.commands.executeCommand("vscode.diff", left, right, title);
    }
  }

  /** Copies a target's forward as a module of its own. */
  async copy(argument?: Partial<LensArgument>): Promise<void> {
    const params = targetParams(argument);
    const module = params && (await ask<Module>(this.server, "fx/module", params));
    if (!module) {
      sayNothingToTrace();
    } else if (module.text === null) {
      const { title, summary, outcome } = module.target;
      const why =
        outcome === "traced" ? "its forward is not available yet, or is too long" : summary || "it was not traced";
      void vscode.window.showWarningMessage(`${title} has no generated module to copy: ${why}.`);
    } else {
      await vscode.env.clipboard.writeText(module.text);
      void vscode.window.showInformationMessage(
        `Copied a module with the generated forward of ${module.target.title}.`,
      );
    }
  }

  private async find(params: TargetParams | undefined): Promise<Found | undefined> {
    const forward = params && (await ask<Forward>(this.server, "fx/forward", params));
    if (!forward) {
      sayNothingToTrace();
      return undefined;
    }
    const id = { uri: params.textDocument.uri, target: forward.target.key, ...captureOf(params) };
    await this.documents.fetch(id);
    return { id, title: forward.target.title };
  }

  private async pickOther({ id, title }: Found): Promise<Found | undefined> {
    const earlier = this.documents
      .versions(id)
      .slice(0, -1)
      .map(({ since }, version) => {
        const label = `$(history) As of ${since.toLocaleTimeString()}`;
        return { label, found: { id: { ...id, version }, title: `${title}, ${since.toLocaleTimeString()}` } };
      })
      .reverse();
    const another = { label: "$(symbol-class) Another model or function in this file…", found: undefined };
    const placeHolder = `Compare the generated forward of ${title} with`;
    const picked = await vscode.window.showQuickPick([...earlier, another], { placeHolder });
    if (picked !== another) {
      return picked?.found;
    }
    const target = await pickTarget(this.server, id.uri, placeHolder);
    return target && { id: { uri: id.uri, target: target.key }, title: target.title };
  }
}
