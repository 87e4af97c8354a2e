import type { Command } from 'commander'
import { archiveName, writeArchive } from '../archive-file.js'
import type { Cli, Common } from '../cli.js'

/** `holdfast archive`. */
export function addArchive(program: Command, cli: Cli): void {
  cli
    .database(
      program,
      'archive',
      'Writes each day of history that is over and not archived into a file of its own, history-YYYYMMDD.ndjson.gz: a line of JSON\n' +
        'for every job that ended on that day. What is stored encrypted stays so. Safe to run again, also after a crash: it goes on\n' +
        'with the first day that is not whole. With the setting archive_first retention drops no day before that.',
    )
    .summary('write days of history into files before they are dropped')
    .requiredOption('--to <directory>', 'where the files are written; it is made if it is missing')
    .action((options: Common & { to: string }) => archive(cli, options))
}

async function archive(cli: Cli, options: Common & { to: string }): Promise<void> {
  const days = await cli.usingDatabase(options, 'to archive', (holdfast) =>
    holdfast.archive((day) => writeArchive(options.to, day)),
  )
  cli.answer(options, { days }, () =>
    days.length === 0
      ? 'No day waits to be archived.'
      : days.map(({ day, jobs }) => `Wrote ${archiveName(day)}: ${jobs} jobs.`).join('\n'),
  )
}
