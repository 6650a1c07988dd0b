// A reporter for Node's test runner: the files whose tests failed, one on each line.
import { basename } from "node:path";

export default async function* failedFiles(events) {
  const files = new Set();
  for await (const { type, data } of events) {
    if (type === "test:fail" && data.file?.endsWith(".test.mjs")) {
      files.add(basename(data.file)); // a suite that fails has the file in which suites are made: suite.mjs
    }
  }
  yield* [...files].map((file) => `${file}\n`);
}
