/**
 * The commands of the palette. `fxLsp.restartAgent` is the server's own: the language client registers it
 * under that name as soon as a server announces it.
 */
import * as vscode from "vscode";
import type { Server } from "./server";

export function registerCommands(server: Server, log: vscode.LogOutputChannel): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerCommand("fxLsp.restart", () => server.restart()),
    vscode.commands.registerCommand("fxLsp.showLogs", () => {
      log.show();
    }),
  );
}
