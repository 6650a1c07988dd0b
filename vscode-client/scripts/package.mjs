// Makes fx-lsp-VERSION.vsix for this machine's platform, or for the one named: npm run package -- --target win32-x64
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { target: { type: "string" } } });
const { version } = JSON.parse(readFileSync("package.json", "utf8"));
// VS Code names a platform as Node does, but for Linux with musl, which has to be named: alpine-x64.
const target = ["--target", values.target ?? `${process.platform}-${process.arch}`];
const name = ["fx-lsp", values.target, version].filter(Boolean).join("-");

// The checkout's own environment has the pip that a system's Python often lacks.
const python = ["../.venv/bin/python", "../.venv/Scripts/python.exe"].find(existsSync) ?? "python3";

// On Windows, npm and npx are scripts, which only a shell runs.
const run = (command, ...args) =>
  execFileSync(command, args, { stdio: "inherit", shell: process.platform === "win32" && /^np[mx]$/.test(command) });
run(python, "scripts/bundle.py", ...target);
run(python, "-I", "launch.py", "--version"); // what does not start here is not packaged
run("npm", "run", "--silent", "build");
run("npx", "vsce", "package", "--no-dependencies", ...target, "--no-rewrite-relative-links", "--out", `${name}.vsix`);
