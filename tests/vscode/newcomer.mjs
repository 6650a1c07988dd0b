// A newcomer's way from nothing to the first squiggle, by the README alone: what each step takes.
// usage: node newcomer.mjs [REPOSITORY]    it is cloned; prints the rows of a table
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Bed } from "./bed.mjs";
import { Workbench } from "./workbench.mjs";

const repository = process.argv[2] ?? resolve(import.meta.dirname, "../..");
const directory = mkdtempSync(join(tmpdir(), "fxnew-"));
const checkout = join(directory, "fx-lsp");

async function step(what, take) {
  const started = performance.now();
  const result = await take();
  console.log(`| ${what} | ${((performance.now() - started) / 1000).toFixed(1)} s |`);
  return result;
}

const run = (command, ...args) =>
  execFileSync(command, args, { cwd: checkout, stdio: ["ignore", "ignore", "inherit"] });

let bed;
try {
  execFileSync("git", ["clone", "--quiet", repository, checkout]);
  await step("`python3 dev.py demo`, which makes `.venv` and downloads torch", () => run("python3", "dev.py", "demo"));
  await step("`python3 dev.py package`", () => run("python3", "dev.py", "package"));
  const [vsix] = readdirSync(join(checkout, "vscode-client")).filter((name) => name.endsWith(".vsix"));
  bed = await Bed.start({ vsix: null });
  await step("`code --install-extension vscode-client/fx-lsp-*.vsix`", () =>
    bed.install(join(checkout, "vscode-client", vsix)),
  );
  const editor = new Workbench().attach(await bed.newWindow({ interpreter: [], trusted: false }));
  editor.workspace = checkout;
  await step("`code .`, with `examples/models/rectify.py` open", () => editor.open("examples/models/rectify.py"));
  await step("trust the folder", async () => {
    await editor.command("Workspaces: Manage Workspace Trust");
    await editor.page.locator(".workspace-trust-editor", { hasText: "You are in Restricted Mode" }).waitFor();
    await editor.page.keyboard.press("Control+Enter");
    await editor.page.locator(".workspace-trust-editor", { hasText: "You trust this folder" }).waitFor();
    await editor.page.keyboard.press("Escape");
  });
  await step("the first squiggle", () => editor.underlined(["x.sum() > 0"]));
} finally {
  await bed?.stop();
  rmSync(directory, { recursive: true, force: true });
}
