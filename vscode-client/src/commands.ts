/**
 * The commands of the palette and of the lenses. `fxLsp.restartAgent`, `fxLsp.traceFile`, `fxLsp.pause` and
 * `fxLsp.resume` are the server's own: the language client registers them under these names as soon as a server announces
 * them.
 */
import * as vscode from "vscode";
import type { Location } from "vscode-languageserver-protocol";
import type { Diagnosis } from "./diagnosis";
import { messageOf } from "./errors";
import { ForwardCommands } from "./forward/commands";
import type { ForwardDocuments } from "./forward/documents";
import type { GraphPanels } from "./graph/panels";
import { PYTHON_EXTENSIONS } from "./interpreter";
import { changeToClear, levelToSet, type Change, type Level } from "./interpreter_setting";
import { toRange } from "./places";
import type { LensArgument } from "./protocol";
import type { Python } from "./python";
import { SECTION, type Server } from "./server";

/** What the commands act on. */
export interface Parts {
  server: Server;
  log: vscode.LogOutputChannel;
  forwards: ForwardDocuments;
  graphs: GraphPanels;
  diagnosis: Diagnosis;
}

const TARGETS: Record<Level, vscode.ConfigurationTarget> = {
  user: vscode.ConfigurationTarget.Global,
  workspace: vscode.ConfigurationTarget.Workspace,
  folder: vscode.ConfigurationTarget.WorkspaceFolder,
};

type Argument = Partial<LensArgument> | undefined;

export function registerCommands({ server, log, forwards, graphs, diagnosis }: Parts): vscode.Disposable {
  const forward = new ForwardCommands(server, forwards);
  const commands: Record<string, (argument: Argument) => unknown> = {
    "fxLsp.restart": () => server.restart(),
    "fxLsp.showLogs": () => {
      log.show();
    },
    "fxLsp.showActions": () => showActions(server.paused),
    "fxLsp.clearCache": () => clearCache(server),
    "fxLsp.selectInterpreter": selectInterpreter,
    "fxLsp.debugInformation": () => diagnosis.open(),
    "fxLsp.openForward": (argument) => forward.open(argument),
    "fxLsp.compareForward": (argument) => forward.compare(argument),
    "fxLsp.copyModule": (argument) => forward.copy(argument),
    "fxLsp.showGraph": (argument) => graphs.show(argument),
    "fxLsp.showFailures": showFailures,
  };
  return vscode.Disposable.from(
    ...Object.entries(commands).map(([name, run]) => vscode.commands.registerCommand(name, run)),
  );
}

/** The status item's click: everything that can be done about the state that it shows. */
async function showActions(paused: boolean): Promise<void> {
  const actions = [
    { label: "$(output) Show Logs", command: "fxLsp.showLogs" },
    { label: "$(debug-rerun) Trace This File", command: "fxLsp.traceFile" },
    paused
      ? { label: "$(debug-continue) Resume Tracing", command: "fxLsp.resume" }
      : { label: "$(debug-pause) Pause Tracing", command: "fxLsp.pause" },
    { label: "$(debug-restart) Restart Tracing Process", command: "fxLsp.restartAgent" },
    { label: "$(refresh) Restart Language Server", command: "fxLsp.restart" },
    { label: "$(trash) Clear Cache", command: "fxLsp.clearCache" },
    { label: "$(symbol-misc) Select Interpreter", command: "fxLsp.selectInterpreter" },
    { label: "$(info) Show Debug Information", command: "fxLsp.debugInformation" },
    { label: "$(gear) Open Settings", command: "workbench.action.openSettings", argument: SECTION },
  ];
  const chosen = await vscode.window.showQuickPick(actions, { placeHolder: "fx-lsp" });
  if (chosen) {
    await vscode.commands.executeCommand(chosen.command, chosen.argument);
  }
}

/** Removes what was kept of earlier traces, and traces everything anew. */
async function clearCache(server: Server): Promise<void> {
  try {
    void vscode.window.showInformationMessage(await server.runCommand("cache", "clear"));
    await vscode.commands.executeCommand("fxLsp.restartAgent");
  } catch (error) {
    void vscode.window.showErrorMessage(messageOf(error));
  }
}

/** The Python that traces: the Python extension's choice where there is one, else a file that is chosen here. */
async function selectInterpreter(): Promise<void> {
  const folders = vscode.workspace.workspaceFolders?.length ?? 0;
  const folder = editedFolder();
  const setting = vscode.workspace.getConfiguration(SECTION, folder);
  const hasPython = PYTHON_EXTENSIONS.some((id) => vscode.extensions.getExtension(id));
  const own = { label: "$(folder-opened) Choose a Python for tracing…" };
  const shared = { label: "$(symbol-misc) Select the interpreter in the Python extension…" };
  const found = { label: "$(discard) Let fx-lsp find one" };
  const answer = await vscode.window.showQuickPick([...(hasPython ? [shared] : []), own, found], {
    placeHolder: `The Python that traces your models. Current: ${setting.get<string[]>("interpreter", []).join(" ") || "found by fx-lsp"}`,
  });
  if (answer === shared) {
    await vscode.commands.executeCommand("python.setInterpreter");
  } else if (answer === found) {
    const change = changeToClear(setting.inspect<Python>("interpreter") ?? {}, folders);
    if (change) {
      await setInterpreter(setting, change);
    }
  } else if (answer === own) {
    const [file] = (await vscode.window.showOpenDialog({ title: "The Python that traces your models" })) ?? [];
    if (file) {
      const level = levelToSet(folders, folder !== undefined);
      await setInterpreter(setting, { level, value: [file.fsPath] });
    }
  }
}

/** The workspace folder of the file that is edited; in a window with one folder, that one. */
function editedFolder(): vscode.Uri | undefined {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const edited = vscode.window.activeTextEditor?.document.uri;
  const folder = folders.length === 1 ? folders[0] : edited && vscode.workspace.getWorkspaceFolder(edited);
  return folder?.uri;
}

async function setInterpreter(setting: vscode.WorkspaceConfiguration, { level, value }: Change): Promise<void> {
  try {
    await setting.update("interpreter", value, TARGETS[level]);
  } catch (error) {
    void vscode.window.showErrorMessage(`The setting fxLsp.interpreter could not be changed: ${messageOf(error)}`);
  }
}

/** The places where a target can't be traced, one after the other in a peek view. */
async function showFailures(argument: Argument): Promise<void> {
  const { uri, position, locations = [] } = argument ?? {};
  if (!uri || !position) {
    await vscode.commands.executeCommand("workbench.actions.view.problems");
    return;
  }
  await vscode.commands.executeCommand(
    "editor.action.peekLocations",
    vscode.Uri.parse(uri),
    new vscode.Position(position.line, position.character),
    locations.map(asLocation),
    "peek",
  );
}

function asLocation({ uri, range }: Location): vscode.Location {
  return new vscode.Location(vscode.Uri.parse(uri), toRange(range));
}
