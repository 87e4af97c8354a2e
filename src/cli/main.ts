#!/usr/bin/env node
import { complain } from './complain.js'
import { program } from './program.js'

// The reader of a pipe may close it early: holdfast migrate --sql | head
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})

try {
  await program.parseAsync()
} catch (error) {
  complain(error, { json: process.argv.includes('--json') })
  process.exitCode = 1
  // A start that failed half way may have left something that keeps the process alive.
  setTimeout(() => process.exit(1), 2_000).unref()
}
