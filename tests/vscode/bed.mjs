// The test bed: VS Code's server with the packaged extension, and Chromium. Its windows are opened one after the other.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import {
  installExtension,
  newProfile,
  newWorkspace,
  startCodeServer,
  writeMachineSettings,
  writeUserSettings,
} from "./code_server.mjs";
import { CHROMIUM, TORCH_PYTHON, VSIX } from "./paths.mjs";
import { processesBelow } from "./processes.mjs";
import { LIMIT, until } from "./until.mjs";

const NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1";

async function startBrowser(directory, scale) {
  const context = await chromium.launchPersistentContext(join(directory, "chromium"), {
    executablePath: CHROMIUM,
    headless: true,
    deviceScaleFactor: scale,
    locale: "en-US",
    timezoneId: "UTC",
    reducedMotion: "reduce",
    env: { ...process.env, HOME: join(directory, "home") },
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", NO_NETWORK],
  });
  context.setDefaultTimeout(LIMIT);
  return context;
}

export class Bed {
  /**
   * @param scale - pixels of a picture for one of the page
   * @param vsix - the extension to install; null for none
   * @param inHost - whether an address may name tests that run in the extension host; no notification pops up then
   */
  static async start({ scale = 1, vsix = VSIX, inHost = false } = {}) {
    const directory = newProfile();
    if (vsix) {
      installExtension(directory, vsix);
    }
    const server = await startCodeServer(directory, inHost ? ["--vscode-option", "enable-smoke-test-driver"] : []);
    return new Bed(directory, server, await startBrowser(directory, scale));
  }

  constructor(directory, server, browser) {
    Object.assign(this, { directory, server, browser });
  }

  install(vsix) {
    installExtension(this.directory, vsix);
  }

  /**
   * A page for a window of VS Code, and a fresh copy of examples/models to open in it: what a Workbench needs.
   *
   * @param settings - the user's, on top of the bed's own
   * @param interpreter - the one that traces, as `fxLsp.interpreter` says it
   * @param trusted - whether every workspace is trusted without a question
   */
  async newWindow({
    settings = {},
    interpreter = [TORCH_PYTHON],
    trusted = true,
    viewport = { width: 1280, height: 800 },
  } = {}) {
    writeUserSettings(this.directory, { "security.workspace.trust.enabled": !trusted, ...settings });
    const setMachineSettings = (machineSettings) => writeMachineSettings(this.directory, machineSettings);
    setMachineSettings({ "fxLsp.interpreter": interpreter });
    const page = await this.browser.newPage();
    await page.setViewportSize(viewport);
    const { address, pid } = this.server;
    return {
      page,
      address,
      pid,
      workspace: newWorkspace(this.directory),
      setMachineSettings,
      close: () => this.closeWindow(page),
    };
  }

  /** The extensions end a little after their window; the next one's must not be taken for them. */
  async closeWindow(page) {
    await page.close();
    const hosts = () => processesBelow(this.server.pid).filter(({ command }) => command.includes("extensionHost"));
    await until("the end of the window's extensions", () => hosts().length === 0);
  }

  async stop() {
    await this.browser.close();
    await this.server.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
