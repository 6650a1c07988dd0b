/** The extension's entry point: puts its parts together. */
import * as vscode from "vscode";
import { registerCommands } from "./commands";
import { Diagnosis } from "./diagnosis";
import { ForwardDocuments } from "./forward/documents";
import { ForwardLinks } from "./forward/links";
import { GraphPanels } from "./graph/panels";
import { findInterpreters } from "./interpreter";
import { Selections } from "./selections";
import { SECTION, Server } from "./server";
import { appearance, StatusLine } from "./status";

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel("fx-lsp", { log: true });
  const item = vscode.languages.createLanguageStatusItem("fxLsp.status", { language: "python" });
  item.name = "fx-lsp";
  item.command = { command: "fxLsp.showActions", title: "Actions" };
  const line = new StatusLine(item);

  const interpreters = await findInterpreters((id) => vscode.extensions.getExtension(id));
  const selections = new Selections(interpreters, vscode.workspace);
  const running = new Server(context.asAbsolutePath("launch.py"), log, selections, (status) => {
    line.show(appearance(status, vscode.workspace.isTrusted));
    diagnosis.show(status);
  });
  const { version } = context.extension.packageJSON as { version: string };
  const diagnosis = new Diagnosis(version, running, interpreters);
  server = running;
  const forwards = new ForwardDocuments(running);
  const graphs = new GraphPanels(running, vscode.Uri.joinPath(context.extensionUri, "dist"));
  context.subscriptions.push(
    log,
    item,
    line,
    forwards.register(),
    new ForwardLinks(forwards).register(),
    graphs.register(),
    diagnosis.register(),
    registerCommands({ server: running, log, forwards, graphs, diagnosis }),
    interpreters,
    interpreters.onDidChange(() => void running.interpretersChanged()),
    vscode.extensions.onDidChange(() => void interpreters.look()),
    vscode.workspace.onDidChangeWorkspaceFolders(() => void running.interpretersChanged()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void running.trustGranted()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration(`${SECTION}.server.python`)) {
        void running.restart();
      }
    }),
  );
  await running.restart();
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
