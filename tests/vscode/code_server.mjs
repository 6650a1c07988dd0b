// code-server (VS Code whose window is a web page) with a profile of its own.
import { execFileSync, spawn } from "node:child_process";
import { closeSync, cpSync, mkdirSync, mkdtempSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { CODE_SERVER, EXAMPLES, NODE, TORCH_PYTHON } from "./paths.mjs";
import { processesBelow, signal } from "./processes.mjs";
import { until } from "./until.mjs";

/** Quiet, the same on every run, and without a word to the network. */
const USER_SETTINGS = {
  "chat.disableAIFeatures": true,
  "editor.autoClosingBrackets": "never",
  "editor.cursorBlinking": "solid",
  "editor.minimap.enabled": false,
  "editor.stickyScroll.enabled": false,
  "editor.wordBasedSuggestions": "off",
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  "files.autoSave": "off",
  "files.hotExit": "off",
  "git.enabled": false,
  "json.schemaDownload.enable": false,
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "update.showReleaseNotes": false,
  "workbench.enableExperiments": false,
  "workbench.reduceMotion": "on",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
};

/** A marketplace that has nothing. */
const NO_GALLERY = { serviceUrl: "", itemUrl: "", resourceUrlTemplate: "", controlUrl: "", recommendationsUrl: "" };

/** A new directory for all that a run writes. Its path is short: Unix sockets' take 107 bytes at most. */
export function newProfile() {
  const directory = mkdtempSync(join(tmpdir(), "fxe2e-"));
  for (const name of ["data/User", "data/Machine", "extensions", "home", "tmp"]) {
    mkdirSync(join(directory, name), { recursive: true });
  }
  writeFileSync(join(directory, "config.yaml"), "auth: none\ncert: false\n");
  return directory;
}

/** A fresh copy of the examples. */
export function newWorkspace(directory) {
  const workspace = join(mkdtempSync(join(directory, "w-")), basename(EXAMPLES));
  cpSync(EXAMPLES, workspace, { recursive: true, filter: (path) => !path.includes("__pycache__") });
  return workspace;
}

export function writeUserSettings(directory, settings) {
  writeFileSync(join(directory, "data/User/settings.json"), JSON.stringify({ ...USER_SETTINGS, ...settings }));
}

/** The window is a remote one to VS Code: settings that belong to the machine are read from a file of their own. */
export function writeMachineSettings(directory, settings) {
  writeFileSync(join(directory, "data/Machine/settings.json"), JSON.stringify(settings));
}

const codeServer = (directory) => [
  CODE_SERVER,
  ...["--config", join(directory, "config.yaml")],
  ...["--user-data-dir", join(directory, "data")],
  ...["--extensions-dir", join(directory, "extensions")],
];

const environment = (directory) => ({
  PATH: [dirname(NODE), process.env.PATH].join(delimiter),
  LANG: "C.UTF-8",
  HOME: join(directory, "home"),
  TMPDIR: join(directory, "tmp"),
  XDG_RUNTIME_DIR: join(directory, "tmp"),
  SHELL: "/bin/sh",
  FX_LSP_PYTHON: TORCH_PYTHON, // for tests inside the extension host
  EXTENSIONS_GALLERY: JSON.stringify(NO_GALLERY),
});

export function installExtension(directory, vsix) {
  const command = [...codeServer(directory), "--install-extension", vsix];
  execFileSync(NODE, command, { env: environment(directory), stdio: "pipe" });
}

/** Starts it; resolves once it listens, to its address, its process id and what ends it with all its children. */
export async function startCodeServer(directory, extraArguments) {
  const logFile = join(directory, "code-server.log");
  const log = openSync(logFile, "w");
  const command = [
    ...codeServer(directory),
    ...["--bind-addr", "127.0.0.1:0", "--auth", "none", "--reconnection-grace-time", "1", "--ignore-last-opened"],
    ...["--disable-telemetry", "--disable-update-check", "--disable-getting-started-override", "--disable-proxy"],
    ...extraArguments,
  ];
  const child = spawn(NODE, command, { env: environment(directory), cwd: directory, stdio: ["ignore", log, log] });
  closeSync(log);
  const killAll = () => processesBelow(child.pid).forEach(({ pid }) => signal(pid, "SIGKILL"));
  process.once("exit", killAll);

  const address = await until("code-server", () => {
    const output = readFileSync(logFile, "utf8");
    if (child.exitCode !== null) {
      throw new Error(`code-server ended: ${output}`);
    }
    return /HTTP server listening on (http:\S+?)\/?\s/.exec(output)?.[1];
  });
  return { address, pid: child.pid, stop: () => stop(child, killAll) };
}

/** Its extension host lingers after a polite end, so what is left after some seconds is killed. */
async function stop(child, killAll) {
  process.off("exit", killAll);
  const processes = processesBelow(child.pid).map(({ pid }) => pid);
  child.kill("SIGTERM");
  await until("code-server's end", () => !processes.some((pid) => signal(pid, 0)), 5_000).catch(() => undefined);
  processes.forEach((pid) => signal(pid, "SIGKILL"));
}
