import { defineConfig } from "vitest/config";

export default defineConfig({
  // The host replaces the placeholder by a fresh nonce at every start.
  html: { cspNonce: "galley-nonce" },
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    chunkSizeWarningLimit: 1200,
    modulePreload: { polyfill: false },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  test: {
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["src/effects.testing.ts"],
    environment: "node",
    testTimeout: 60_000,
  },
});
