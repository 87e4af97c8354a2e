import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'

const long = process.env.HOLDFAST_LONG === '1'
const dist = fileURLToPath(new URL('./dist/', import.meta.url))

// The long run has the tests that take minutes: *.long.test.* run only there, *.sized.test.* run here as well, on a sample.
const include = ['src/**/*.test.ts', 'test/**/*.test.ts', 'chaos/**/*.test.mjs']
const exclude = [...configDefaults.exclude, long ? '**/!(*.long|*.sized).test.*' : '**/*.long.test.*']

/** Files that change the process that they run in, or watch it: each gets one of its own. */
const alone = [
  'chaos/fuzz/fuzz.sized.test.mjs',
  'src/job/id.test.ts',
  'src/run/isolate/child.test.ts',
  'test/dev/postgres*.test.ts',
  'test/docs/tracing-and-privacy.test.ts',
  'test/journeys/alert-addresses.test.ts',
  'test/journeys/pool.test.ts',
  'test/privacy/redaction.test.ts',
  'test/privacy/strict.test.ts',
  'test/store/result-types.test.ts',
  'test/testing/scratch-queue.sized.test.ts',
  'test/tracing/*.test.ts',
]

const shared = {
  resolve: {
    // Tests in test/ use the package as its users do: the built files, by the names in package.json.
    alias: [
      { find: /^holdfast$/, replacement: `${dist}index.js` },
      // No entry of the package: what our own tests see of the inside.
      { find: /^holdfast\/inside$/, replacement: `${dist}inside.js` },
      { find: /^holdfast\/cli$/, replacement: `${dist}cli/run.js` },
      { find: /^holdfast\/(worker|server|client|testing|dev)$/, replacement: `${dist}$1/index.js` },
    ],
  },
}

const options = {
  pool: 'forks' as const,
  // Far beyond what any test needs: only a machine that is busy with other things comes near.
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // Where others share the machine, a test of real processes may run into its deadline once. Vitest names what it ran again.
  retry: process.env.CI ? 1 : 0,
  runner: fileURLToPath(new URL('./test/support/clean-retries.ts', import.meta.url)),
  // Node itself must load the built files: they start threads from import.meta.url, which a transformed module does not have.
  server: { deps: { external: [/\/dist\/.*\.js$/] } },
}

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    // Five processes on two cores, because many tests wait more than they work.
    maxWorkers: 5,
    // Starting a process and loading everything into it takes a second and a half of the processor, most files less: they share.
    projects: [
      { ...shared, test: { ...options, name: 'alone', include: alone, exclude } },
      { ...shared, test: { ...options, name: 'shared', isolate: false, include, exclude: [...exclude, ...alone] } },
    ],
  },
})
