// Runs jobs of every type until it is told to stop. Bundled, and run alone.
import { Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { inline, inProcess, inThread } from './handlers.mjs'

async function main() {
  const holdfast = new Holdfast({ connectionString: process.env.DATABASE_URL })
  const options = { module: process.env.HANDLERS, handleSignals: true }
  try {
    await startWorker(holdfast, [inline, inThread, inProcess], options)
    console.log('started')
  } catch (error) {
    console.log(`${error.code}: ${error.message}`)
    process.exitCode = 3
    await holdfast.close()
  }
}

void main()
