import { setTimeout as delay } from "node:timers/promises";

/** How long anything may take on a machine that is very busy, in milliseconds. Nothing waits for it that comes sooner. */
export const LIMIT = 120_000;

/** What `look` returns, as soon as that is truthy. Rejects after `limit` milliseconds, or with what `look` throws. */
export async function until(what, look, limit = LIMIT) {
  for (const end = performance.now() + limit; performance.now() < end; await delay(50)) {
    const seen = await look();
    if (seen) {
      return seen;
    }
  }
  throw new Error(`${what} did not come within ${limit} ms`);
}
