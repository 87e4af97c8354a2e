import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'

const long = process.env.HOLDFAST_LONG === '1'
const named = long ? '*.{long,sized}.test' : '*.test'
const dist = fileURLToPath(new URL('./dist/', import.meta.url))

export default defineConfig({
  resolve: {
    // Tests in test/ use the package as its users do: the built files, by the names in package.json.
    alias: [
      { find: /^holdfast$/, replacement: `${dist}index.js` },
      // No entry of the package: what our own tests see of the inside.
      { find: /^holdfast\/inside$/, replacement: `${dist}inside.js` },
      { find: /^holdfast\/(worker|server|client|testing|dev)$/, replacement: `${dist}$1/index.js` },
    ],
  },
  test: {
    // The long run has the tests that take minutes: *.long.test.* run only there, *.sized.test.* run here as well, on a sample.
    include: [`src/**/${named}.ts`, `test/**/${named}.ts`, `chaos/**/${named}.mjs`],
    exclude: [...configDefaults.exclude, ...(long ? [] : ['**/*.long.test.*'])],
    globalSetup: ['test/support/global-setup.ts'],
    // A process for each file: tests kill workers and read process.env. Five of them on two cores, because many tests wait
    // more than they work.
    pool: 'forks',
    maxWorkers: 5,
    testTimeout: 30_000,
    // Where others share the machine, a test of real processes may run into its deadline once. Vitest names what it ran again.
    retry: process.env.CI ? 1 : 0,
    hookTimeout: 60_000,
    // Node itself must load the built files: they start threads from import.meta.url, which a transformed module does not have.
    server: { deps: { external: [/\/dist\/.*\.js$/] } },
  },
})
