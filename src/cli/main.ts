#!/usr/bin/env node
import { processIo } from './io.js'
import { run } from './run.js'

// The reader of a pipe may close it early: holdfast migrate --sql | head
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})

const code = await run(process.argv.slice(2), processIo())
if (code !== 0) {
  process.exitCode = code
  // A start that failed half way may have left something that keeps the process alive.
  setTimeout(() => process.exit(code), 2_000).unref()
}
