import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

const readonly = (...names) => Object.fromEntries(names.map((name) => [name, "readonly"]));

export default defineConfig(
  { ignores: ["**/dist/", "**/bundled/", "**/node_modules/"] },
  {
    files: ["**/*.ts"],
    extends: [js.configs.recommended, tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      complexity: ["error", 12],
      "max-lines-per-function": ["error", 60],
      // node:test's test() returns a promise that the runner itself awaits.
      "@typescript-eslint/no-floating-promises": [
        "error",
        { allowForKnownSafeCalls: [{ from: "package", name: "test", package: "node:test" }] },
      ],
    },
  },
  {
    files: ["**/*.mjs"],
    extends: [js.configs.recommended],
    languageOptions: {
      globals: readonly(
        "Buffer",
        "Event",
        "URL",
        "console",
        "document",
        "getComputedStyle",
        "indexedDB",
        "performance",
        "process",
        "structuredClone",
        "window",
      ),
    },
  },
  {
    files: ["**/*.cjs"],
    extends: [js.configs.recommended],
    languageOptions: {
      sourceType: "commonjs",
      globals: readonly("console", "exports", "module", "process", "require", "setTimeout"),
    },
  },
  {
    files: ["**/in_page.js"],
    extends: [js.configs.recommended],
    languageOptions: { sourceType: "script", globals: readonly("NodeFilter", "document", "window") },
  },
);
