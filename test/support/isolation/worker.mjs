// A worker in a process of its own, for tests that kill it. Arguments: connection string, options as JSON.
import { Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'

const [connectionString, options] = process.argv.slice(2)
const quiet = { info() {}, warn() {}, error() {} }
await startWorker(new Holdfast({ connectionString }), new URL('./handlers.mjs', import.meta.url), {
  logger: quiet,
  lease: '6s',
  unsafe: true,
  handleSignals: true,
  ...JSON.parse(options ?? '{}'),
})
console.log('started')
