/** What went wrong, for a person. */

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
