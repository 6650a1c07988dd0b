// fx-lsp in a real JupyterLab: opens a notebook in Chromium, sees a problem underlined in its cell, and mends it.
// usage: node tests/vscode/jupyterlab.mjs PATH/TO/jupyter-lab     where fx-lsp and jupyterlab-lsp are installed too
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { CHROMIUM, EXAMPLES, SHOTS, TORCH_PYTHON } from "./paths.mjs";
import { LIMIT, until } from "./until.mjs";

const NOTEBOOK = "mean.ipynb";
const CELLS = [
  "import torch\nfrom padding import pad_to_multiple",
  "class Mean(torch.nn.Module):\n    def forward(self, x):\n        return x.sum(0) / len(x)",
  "class Padded(torch.nn.Module):\n    def forward(self, x):\n        return pad_to_multiple(x, 8)",
];

async function freePort() {
  const server = createServer();
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}

function notebook(sources) {
  const cells = sources.map((source, index) => ({
    ...{ cell_type: "code", id: `cell-${index}`, source },
    ...{ execution_count: null, metadata: {}, outputs: [] },
  }));
  const kernelspec = { display_name: "Python 3", language: "python", name: "python3" };
  return { cells, metadata: { kernelspec }, nbformat: 4, nbformat_minor: 5 };
}

/** JupyterLab with a home folder of its own, in a copy of the examples. */
function startJupyter(jupyter, directory, port) {
  const notebooks = join(directory, "models");
  cpSync(EXAMPLES, notebooks, { recursive: true });
  writeFileSync(join(notebooks, NOTEBOOK), JSON.stringify(notebook(CELLS)));
  symlinkSync(resolve(TORCH_PYTHON, "../.."), join(notebooks, ".venv"));
  mkdirSync(join(directory, "home"));
  const options = {
    "ServerApp.port": port,
    "ServerApp.port_retries": 0,
    "ServerApp.open_browser": "False",
    "ServerApp.allow_root": "True",
    "IdentityProvider.token": "",
  };
  const words = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const env = {
    HOME: join(directory, "home"),
    LANG: "C.UTF-8",
    PATH: [dirname(jupyter), "/usr/bin", "/bin"].join(":"),
  };
  return spawn(jupyter, [...words, notebooks], { cwd: notebooks, env, stdio: "ignore" });
}

/** Whether the hover over a name, asked for as jupyterlab-lsp wants it, has some text. */
async function hoverShows(page, name, text) {
  await page.mouse.move(0, 0);
  await page
    .locator(".cm-line")
    .getByText(name, { exact: true })
    .hover({ modifiers: ["Control"] });
  const shown = page.locator("[class*=lsp-hover]", { hasText: text }).first();
  return shown.waitFor({ timeout: 5000 }).then(
    () => true,
    () => false,
  );
}

const directory = mkdtempSync(join(tmpdir(), "fxjl-"));
const port = await freePort();
const address = `http://127.0.0.1:${port}/lab/tree/${NOTEBOOK}?reset`;
const jupyter = startJupyter(process.argv[2], directory, port);
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(LIMIT);
  await until("JupyterLab", () => page.goto(address).catch(() => null));
  const underlined = () => page.locator(".jp-Notebook .cm-lintRange").allInnerTexts();
  await until("the diagnostic", async () => (await underlined()).join("") === "len(x)");
  await page.screenshot({ path: join(SHOTS, "jupyterlab.png") });
  await until("the hover, which names the imported module", () => hoverShows(page, "Padded", "padding.py"));
  await page.locator(".cm-line", { hasText: "len(x)" }).click();
  await page.keyboard.press("End");
  for (let left = "len(x)".length; left > 0; left--) {
    await page.keyboard.press("Backspace");
  }
  await page.keyboard.type("x.size(0)");
  await until("the diagnostic to go", async () => (await underlined()).length === 0);
  console.log("passed: the hover, and the underline in a cell, which was gone once the cell was mended");
} finally {
  await browser.close();
  jupyter.kill();
  rmSync(directory, { recursive: true, force: true });
}
