// Makes the animation of the extension's own page: a model stops tracing while it is typed, and a fix mends it.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Bed } from "./bed.mjs";
import { CLIENT, TORCH_PYTHON } from "./paths.mjs";
import { PICTURE_SETTINGS } from "./picture_settings.mjs";
import { Workbench } from "./workbench.mjs";

const FILE = "classifier.py";
const [KEY_MS, LOOK_MS, READ_MS] = [60, 900, 3_000];

const bed = await Bed.start();
const editor = new Workbench().attach(
  await bed.newWindow({ viewport: { width: 900, height: 520 }, settings: PICTURE_SETTINGS }),
);
const folder = mkdtempSync(join(tmpdir(), "fx-lsp-animation-"));
const frames = [];

/** Adds what is to be seen now to the animation, for so many milliseconds. */
async function frame(ms) {
  const file = join(folder, `${frames.length}.png`);
  await editor.page.screenshot({ path: file });
  frames.push({ file, ms });
}

async function type(text) {
  for (const key of text) {
    await editor.page.keyboard.type(key);
    await frame(KEY_MS);
  }
}

async function press(...keys) {
  for (const key of keys) {
    await editor.page.keyboard.press(key);
  }
}

try {
  await editor.open(FILE);
  await editor.page.keyboard.press("Control+B"); // the side bar goes, its room is for the code
  await editor.lens("21 nodes");
  await editor.goInto(FILE, "def forward(self, x");
  await press("End");
  await editor.lens("21 nodes");
  await editor.page.waitForTimeout(2_000); // until the shapes are there
  await frame(READ_MS);
  await press("Enter");
  await type("x = x / len(x)");
  await editor.underlined(["len(x)"]);
  await editor.lens("✗ 1 place");
  await frame(LOOK_MS);
  await editor.hover("x = x / len", "len(x)", "fx-lsp");
  await editor.page.waitForTimeout(1_000); // it fades in
  await frame(READ_MS);
  await editor.leave();
  await press("ArrowLeft", "ArrowLeft");
  const fix = await editor.quickFix("size(0)");
  await frame(READ_MS);
  await editor.click(fix);
  await editor.underlined([]);
  await editor.lens("✓ traces");
  await editor.page.waitForTimeout(2_000);
  await frame(READ_MS);
  writeFileSync(join(folder, "frames.json"), JSON.stringify(frames));
  const made = spawnSync(
    TORCH_PYTHON,
    [join(import.meta.dirname, "animation.py"), folder, join(CLIENT, "images/mended.gif")],
    { stdio: "inherit" },
  );
  process.exitCode = made.status;
} finally {
  await bed.stop();
  rmSync(folder, { recursive: true, force: true });
}
