// The test bed: VS Code on a copy of examples/models, and Chromium to look at it.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { installExtension, newProfile, startCodeServer, writeMachineSettings } from "./code_server.mjs";
import { CHROMIUM, TORCH_PYTHON, VSIX } from "./paths.mjs";

const NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1";

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
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", NO_NETWORK],
  });
  context.setDefaultTimeout(20_000);
  return context;
}

/**
 * A running VS Code: its address and process id, the workspace's directory, a browser's page, and what changes the
 * settings that belong to the machine.
 *
 * @param settings - the user's, on top of the bed's own
 * @param interpreter - the one that traces, as `fxLsp.interpreter` says it
 * @param vsix - the extension to install; null for none
 * @param trusted - whether every workspace is trusted without a question
 */
export async function startBed({
  settings = {},
  interpreter = [TORCH_PYTHON],
  vsix = VSIX,
  trusted = true,
  extraArguments = [],
  viewport = { width: 1280, height: 800 },
  scale = 1,
} = {}) {
  const { directory, workspace } = newProfile(
    { "security.workspace.trust.enabled": !trusted, ...settings },
    interpreter,
  );
  if (vsix) {
    installExtension(directory, vsix);
  }
  const { address, pid, stop } = await startCodeServer(directory, extraArguments);
  const browser = await startBrowser(directory, viewport, scale);
  return {
    address,
    pid,
    workspace,
    page: browser.pages()[0] ?? (await browser.newPage()),
    setMachineSettings: (machineSettings) => writeMachineSettings(directory, machineSettings),
    async stop() {
      await browser.close();
      await stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
