// How long a typed character takes to the screen, with the extension and without it, in turn.
// usage: node typing_latency.mjs [LINES]    each line is 30 keystrokes with either; the last line printed is a table's rows
import { setTimeout as delay } from "node:timers/promises";
import { Bed } from "./bed.mjs";
import { VSIX } from "./paths.mjs";
import { agents } from "./servers.mjs";
import { until } from "./until.mjs";
import { Workbench } from "./workbench.mjs";

const LINES = Number(process.argv[2] ?? 10);
const MS_BETWEEN_KEYS = 120; // a hundred words a minute: a trace starts within most pauses
const FILE = "classifier.py";

/** In the page: notes for each key the milliseconds from its event to the frame that shows its character. */
function watchKeys() {
  window.fxKeys = [];
  document.addEventListener(
    "keydown",
    ({ timeStamp }) => {
      const lines = document.querySelector(".editor-instance .monaco-editor .view-lines");
      const changed = new window.MutationObserver(() => {
        changed.disconnect();
        window.requestAnimationFrame(() => {
          const { port1, port2 } = new window.MessageChannel(); // its turn comes when the frame has been painted
          port1.onmessage = () => window.fxKeys.push(performance.now() - timeStamp);
          port2.postMessage(null);
        });
      });
      changed.observe(lines, { subtree: true, childList: true, characterData: true });
    },
    { capture: true },
  );
}

async function openEditor(vsix) {
  const bed = await Bed.start({ vsix });
  const editor = new Workbench().attach(await bed.newWindow());
  await editor.open(FILE);
  if (vsix) {
    await editor.lens("21 nodes");
  }
  await editor.page.evaluate(watchKeys);
  return { bed, editor };
}

/** Types a statement into the model's forward, and takes it away again. The milliseconds that each key took. */
async function typeLine({ page }, number) {
  const before = await page.evaluate(() => window.fxKeys.length);
  const text = `pooled = pooled * ${number} + images.sum()`.slice(0, 30);
  for (const [index, key] of [...text].entries()) {
    await page.keyboard.press(key === " " ? "Space" : key);
    await until("the character", () => page.evaluate((count) => window.fxKeys.length >= count, before + index + 1));
    await delay(MS_BETWEEN_KEYS);
  }
  return page.evaluate((from) => window.fxKeys.slice(from), before);
}

function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

const beds = { with: await openEditor(VSIX), without: await openEditor(null) };
const taken = { with: [], without: [] };
try {
  for (let line = 0; line < LINES; line++) {
    for (const which of line % 2 ? ["without", "with"] : ["with", "without"]) {
      const { editor } = beds[which];
      await editor.page.bringToFront();
      await editor.goInto(FILE, "pooled = features.mean");
      await editor.page.keyboard.press("End");
      await editor.page.keyboard.press("Enter");
      await delay(1_000);
      taken[which].push(...(await typeLine(editor, line)));
      await editor.revert();
    }
  }
  const running = agents(beds.with.editor).length;
  const differences = taken.with.map((ms, index) => ms - taken.without[index]);
  console.log(`${taken.with.length} keystrokes with either; tracing processes with the extension: ${running}`);
  for (const [which, values] of Object.entries({ ...taken, "with - without, key by key": differences })) {
    const [median, p95] = [quantile(values, 0.5), quantile(values, 0.95)];
    console.log(`| ${which} | ${median.toFixed(1)} ms | ${p95.toFixed(1)} ms |`);
  }
} finally {
  await Promise.all(Object.values(beds).map(({ bed }) => bed.stop()));
}
