/** The files that the targets of views are in. The server answers only about those that are open. */
import { basename } from "node:path/posix";
import { setTimeout } from "node:timers/promises";
import * as vscode from "vscode";
import { messageOf } from "./errors";
import type { TargetParams } from "./protocol";
import type { Server } from "./server";

const CELL = "vscode-notebook-cell";

/** How long it is waited for what the server finds in a file that was opened. */
const FOUND_WITHIN_MS = 5_000;

/** The server's answer about a target; if its file is closed, that is opened first. */
export async function ask<Result>(server: Server, method: string, params: TargetParams): Promise<Result | null> {
  const { uri } = params.textDocument;
  const answer = await server.request<Result>(method, params);
  if (answer || isOpen(uri)) {
    return answer;
  }
  const found = nextChange(server, uri);
  if (await openSource(uri)) {
    return null;
  }
  await Promise.race([found, setTimeout(FOUND_WITHIN_MS)]);
  return server.request<Result>(method, params);
}

/** Opens a target's file, in no editor; VS Code closes it again after some minutes. Says why where that fails, else "". */
export async function openSource(uri: string): Promise<string> {
  const source = vscode.Uri.parse(uri);
  const isCell = source.scheme === CELL;
  const file = isCell ? source.with({ scheme: "file", fragment: "" }) : source;
  try {
    await (isCell ? vscode.workspace.openNotebookDocument(file) : vscode.workspace.openTextDocument(file));
    return "";
  } catch (error) {
    return (await exists(file)) ? `${nameOf(uri)} could not be opened: ${messageOf(error)}` : `${nameOf(uri)} is gone.`;
  }
}

/** What a view says that has no answer: the server may not have looked yet, or there may be nothing any longer. */
export function notFound(uri: string): string {
  return `fx-lsp has found nothing with this name to trace in ${nameOf(uri)} so far.`;
}

function nameOf(uri: string): string {
  return basename(vscode.Uri.parse(uri).path);
}

function isOpen(uri: string): boolean {
  const wanted = vscode.Uri.parse(uri).toString();
  return vscode.workspace.textDocuments.some((document) => document.uri.toString() === wanted);
}

async function exists(file: vscode.Uri): Promise<boolean> {
  return vscode.workspace.fs.stat(file).then(
    () => true,
    () => false,
  );
}

/** Resolves when the server next has news of a file. */
function nextChange(server: Server, uri: string): Promise<void> {
  return new Promise((resolve) => {
    const listening = server.onDidChangeTargets(({ textDocument }) => {
      if (textDocument.uri === uri) {
        listening.dispose();
        resolve();
      }
    });
  });
}
