// Builds dist/: the extension, the graph's page, and the licences of all that went into them.
import { build } from "esbuild";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const WORKER = "node_modules/elkjs/lib/elk-worker.min.js";
const common = { bundle: true, minify: true, metafile: true, legalComments: "none", logLevel: "warning" };

const extension = await build({
  ...common,
  entryPoints: ["src/extension.ts"],
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode"],
  outfile: "dist/extension.js",
});
const page = await build({
  ...common,
  entryPoints: { graph: "webview/main.ts" },
  platform: "browser",
  format: "esm",
  target: "chrome120",
  outdir: "dist",
});
mkdirSync("dist", { recursive: true });
copyFileSync(WORKER, "dist/elk-worker.min.js");
copyFileSync("webview/page.css", "dist/page.css");

const inputs = [WORKER, ...[extension, page].flatMap(({ metafile }) => Object.keys(metafile.inputs))];
const packages = new Set(inputs.flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []));
writeFileSync("dist/LICENSES.txt", [...packages].sort().map(licence).join("\n\n"));

/** A package's name, version and licence. Throws where it has none: it must not be shipped then. */
function licence(directory) {
  const { name, version, license } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
  const file = readdirSync(directory).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file || !existsSync(join(directory, file))) {
    throw new Error(`${name} has no licence text`);
  }
  return `${name} ${version} (${license})\n\n${readFileSync(join(directory, file), "utf8").trim()}\n`;
}
