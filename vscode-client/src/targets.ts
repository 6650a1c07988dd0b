/** Which target a command is about. */
import * as vscode from "vscode";
import { idOf, SCHEME } from "./forward/documents";
import type { LensArgument, Target, TargetParams } from "./protocol";
import type { Server } from "./server";

/** The target of a lens, or that of the generated forward or the place in a source that the cursor is in. */
export function targetParams(argument?: Partial<LensArgument>): TargetParams | undefined {
  if (argument?.uri && argument.target) {
    return { textDocument: { uri: argument.uri }, target: argument.target, ...captureOf(argument) };
  }
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.uri.scheme === SCHEME) {
    const id = idOf(editor.document.uri);
    return { textDocument: { uri: id.uri }, target: id.target, ...captureOf(id) };
  }
  if (editor?.document.languageId !== "python") {
    return undefined;
  }
  const { line, character } = editor.selection.active;
  return { textDocument: { uri: editor.document.uri.toString() }, position: { line, character } };
}

/** The capture that is named, if any is. */
export function captureOf({ capture }: Pick<TargetParams, "capture">): Pick<TargetParams, "capture"> {
  return capture ? { capture } : {};
}

/** Lets a person choose one of a file's targets. */
export async function pickTarget(server: Server, uri: string, placeHolder: string): Promise<Target | undefined> {
  const targets = (await server.request<Target[]>("fx/targets", { textDocument: { uri } })) ?? [];
  const items = targets.map((target) => ({ label: target.title, description: target.summary, target }));
  return (await vscode.window.showQuickPick(items, { placeHolder, matchOnDescription: true }))?.target;
}

export function sayNothingToTrace(): void {
  void vscode.window.showInformationMessage("fx-lsp found no module or function to trace here.");
}
