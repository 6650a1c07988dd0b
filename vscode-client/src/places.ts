/** Places that the server names, in the editor. */
import * as vscode from "vscode";
import type { Location, Range } from "vscode-languageserver-protocol";

export function toRange({ start, end }: Range): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}

/** Shows a place in an editor that has its file already, else in the first column. */
export async function showPlace({ uri, range }: Location): Promise<void> {
  const wanted = vscode.Uri.parse(uri);
  const shown = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === wanted.toString());
  await vscode.window.showTextDocument(wanted, {
    viewColumn: shown?.viewColumn ?? vscode.ViewColumn.One,
    selection: toRange(range),
  });
}
