import { CommanderError } from 'commander'
import { complain } from './complain.js'
import { exitCodes, UsageError } from './exit.js'
import type { Io } from './io.js'
import { makeProgram } from './program.js'

/** Runs one command line (without the program's own name) and answers with what the process is to end with. */
export async function run(args: readonly string[], io: Io): Promise<number> {
  const { program, cli } = makeProgram(io)
  try {
    await program.parseAsync(args, { from: 'user' })
    return cli.exitCode
  } catch (error) {
    // Commander has said it already; help and version end this way too.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
    complain(io, error, { json: args.includes('--json') })
    return error instanceof UsageError ? exitCodes.usage : exitCodes.failed
  }
}
