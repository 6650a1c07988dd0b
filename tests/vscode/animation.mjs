// Makes the moving picture of the extension's gallery page from what is really on the screen, as a frame for each step.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Bed } from "./bed.mjs";
import { CLIENT, TORCH_PYTHON } from "./paths.mjs";
import { PICTURE_SETTINGS } from "./picture_settings.mjs";
import { Workbench } from "./workbench.mjs";

const bed = await Bed.start();
const editor = new Workbench().attach(
  await bed.newWindow({ viewport: { width: 860, height: 470 }, settings: PICTURE_SETTINGS }),
);
const folder = mkdtempSync(join(tmpdir(), "fxframes-"));
const frames = [];

/** A frame of what is to be seen now, which stays for `ms`. */
async function frame(ms) {
  const file = join(folder, `${frames.length}.png`);
  await editor.page.screenshot({ path: file });
  frames.push({ file, ms });
}

async function type(text) {
  for (const character of text) {
    await editor.page.keyboard.type(character);
    await frame(60);
  }
}

try {
  await editor.open("normalize.py");
  await editor.page.keyboard.press("Control+B");
  await editor.underlined(["len(x)"]);
  await frame(1_500);
  await editor.hover("return x / sqrt", "len(x)", "fx-lsp");
  await frame(3_000);
  await editor.leave();
  await editor.goInto("normalize.py", "len(x)");
  await editor.quickFix("Insert torch.fx.wrap");
  await frame(1_500);
  await editor.page.keyboard.press("Enter");
  await editor.underlined([]);
  await editor.lens("✓");
  await frame(2_500);
  await editor.goInto("normalize.py", "return x / sqrt");
  await editor.page.keyboard.press("End");
  await type(" if x.sum() > 0 else x");
  await editor.underlined(["x.sum() > 0"]);
  await frame(3_000);
  execFileSync(TORCH_PYTHON, [
    join(import.meta.dirname, "animation.py"),
    join(CLIENT, "images/animation.png"),
    ...frames.map(({ file, ms }) => `${file}=${ms}`),
  ]);
} finally {
  await bed.stop();
  rmSync(folder, { recursive: true, force: true });
}
