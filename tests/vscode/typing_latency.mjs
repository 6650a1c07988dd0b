// How long a typed character takes to the screen, with the extension and without it, in turn.
// usage: node typing_latency.mjs [LINES]    each line is 24 keystrokes with either; prints the rows of a table
import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { Bed } from "./bed.mjs";
import { VSIX } from "./paths.mjs";
import { processesBelow } from "./processes.mjs";
import { agents } from "./servers.mjs";
import { until } from "./until.mjs";
import { Workbench } from "./workbench.mjs";

const LINES = Number(process.argv[2] ?? 20);
const MS_BETWEEN_KEYS = 120; // a hundred words a minute: a trace starts within most pauses
const RESAMPLES = 1_000;
const FILE = "classifier.py";

/** What is typed into the model's forward. No other line begins with its first letter, by which it is found. */
const statement = (number) => `judged = pooled * ${number} + images.sum()`.slice(0, 30);

/**
 * In the page: `window.fxTaken` promises the milliseconds from the next key to the frame that shows `text` in the line that
 * begins with `first`. Hints stand behind a name before the `=`, so that what follows it is in one piece.
 */
function watchKey([first, text]) {
  const lines = document.querySelector(".editor-instance .monaco-editor .view-lines");
  const shown = () =>
    [...lines.children]
      .map((line) => line.textContent.replaceAll("\u00a0", " ").trimStart())
      .some((line) => line.startsWith(first) && line.includes(text));
  window.fxTaken = new Promise((resolve) => {
    const whenPressed = ({ timeStamp }) => {
      const whenDrawn = new window.MutationObserver(() => {
        if (shown()) {
          whenDrawn.disconnect();
          window.requestAnimationFrame(() => {
            const { port1, port2 } = new window.MessageChannel(); // its turn comes when the frame has been painted
            port1.onmessage = () => resolve(performance.now() - timeStamp);
            port2.postMessage(null);
          });
        }
      });
      whenDrawn.observe(lines, { subtree: true, childList: true, characterData: true });
    };
    document.addEventListener("keydown", whenPressed, { capture: true, once: true });
  });
}

async function openEditor(vsix) {
  const bed = await Bed.start({ vsix });
  const editor = new Workbench().attach(await bed.newWindow());
  await editor.open(FILE);
  if (vsix) {
    await editor.lens("21 nodes");
  }
  return { bed, editor };
}

/** The milliseconds of processor time that all processes below this one have used. */
function processorTime() {
  const TICK = 10;
  const used = ({ pid }) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const [user, system] = stat
        .slice(stat.lastIndexOf(")") + 2)
        .split(" ")
        .slice(11, 13)
        .map(Number);
      return TICK * (user + system);
    } catch {
      return 0; // it has ended
    }
  };
  return processesBelow(process.pid)
    .filter(({ pid }) => pid !== process.pid)
    .reduce((sum, each) => sum + used(each), 0);
}

/** Waits until no editor and nothing that traces is at work: what one has begun must not slow the other's keys. */
function quiet() {
  const SPAN = 500;
  return until("quiet", async () => {
    const before = processorTime();
    await delay(SPAN);
    return processorTime() - before < SPAN / 10;
  });
}

/** Types a statement into the model's forward, and takes it away again. The milliseconds that each key took. */
async function typeLine(editor, number) {
  await editor.goInto(FILE, "pooled = features.mean");
  await editor.page.keyboard.press("End");
  await editor.page.keyboard.press("Enter");
  await quiet();
  const taken = [];
  const text = statement(number);
  for (let length = 1; length <= text.length; length++) {
    const typed = text.slice(0, length).trimEnd();
    const key = text[length - 1];
    if (key === " ") {
      await editor.page.keyboard.press("Space"); // can't be seen at a line's end
    } else {
      await editor.page.evaluate(watchKey, [text[0], typed.slice(Math.max(0, typed.indexOf("=")))]);
      await editor.page.keyboard.press(key);
    }
    await delay(MS_BETWEEN_KEYS);
    if (key !== " ") {
      taken.push(await editor.page.evaluate(() => window.fxTaken));
    }
  }
  await editor.revert();
  return taken;
}

function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

/** By how much a quantile differs, and between which two values that lies for 95 of 100 draws of as many lines. */
function difference(lines, share) {
  const of = (drawn) =>
    quantile(
      drawn.flatMap(({ with: taken }) => taken),
      share,
    ) -
    quantile(
      drawn.flatMap(({ without: taken }) => taken),
      share,
    );
  const draw = () => lines.map(() => lines[Math.floor(Math.random() * lines.length)]);
  const draws = Array.from({ length: RESAMPLES }, () => of(draw()));
  const [from, to] = [quantile(draws, 0.025), quantile(draws, 0.975)].map((ms) => ms.toFixed(1));
  return `${of(lines).toFixed(1)} ms (${from} to ${to})`;
}

function report(lines) {
  const ms = (which, share) =>
    `${quantile(
      lines.flatMap((line) => line[which]),
      share,
    ).toFixed(1)} ms`;
  console.log("| | median | 95 % of the keys within |\n|---|---|---|");
  for (const which of ["without", "with"]) {
    console.log(`| ${which} the extension | ${ms(which, 0.5)} | ${ms(which, 0.95)} |`);
  }
  console.log(`| difference | ${difference(lines, 0.5)} | ${difference(lines, 0.95)} |`);
}

const load = () => loadavg()[0].toFixed(1);
const loadBefore = load();
const beds = { with: await openEditor(VSIX), without: await openEditor(null) };
try {
  const lines = [];
  for (let number = 0; number < LINES; number++) {
    const line = {};
    for (const which of number % 2 ? ["without", "with"] : ["with", "without"]) {
      line[which] = await typeLine(beds[which].editor, number % 10);
    }
    lines.push(line);
  }
  const keys = lines.flatMap((line) => line.with).length;
  const tracing = agents(beds.with.editor).length;
  console.log(`${keys} keys with either; tracing processes: ${tracing}; load before: ${loadBefore}, after: ${load()}`);
  report(lines);
} finally {
  await Promise.all(Object.values(beds).map(({ bed }) => bed.stop()));
}
