// All files of a run share one test bed, and each has a window of its own in it.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, describe } from "node:test";
import { Bed } from "./bed.mjs";
import { SHOTS } from "./paths.mjs";
import { Workbench } from "./workbench.mjs";

let shared;

after(async () => (await shared)?.stop());

/**
 * The tests of one file, in a window that is there while they run. Each leaves a picture of how it ended.
 *
 * @param options - of the window, and of a bed of its own where `bed` has some: Bed.newWindow and Bed.start have them
 * @param define - defines the tests; it is called with the window
 */
export function suite(name, { bed, ...options }, define) {
  describe(name, () => {
    const editor = new Workbench();
    let own;
    before(async () => {
      own = bed && (await Bed.start(bed));
      editor.attach(await (own ?? (await (shared ??= Bed.start()))).newWindow(options));
    });
    after(() => (own ? own.stop() : editor.close?.()));
    afterEach((t) => picture(editor, `${name} ${t.name}`));
    define(editor);
  });
}

/** A picture of a window among those that are left behind. */
export function picture(editor, name) {
  mkdirSync(SHOTS, { recursive: true });
  return editor.page?.screenshot({ path: join(SHOTS, `${name.replace(/\W+/g, "-")}.png`) });
}
