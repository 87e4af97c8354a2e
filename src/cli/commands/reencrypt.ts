import type { Command } from 'commander'
import type { Cli, Common } from '../cli.js'
import { Progress } from '../progress.js'

/** `holdfast reencrypt`. */
export function addReencrypt(program: Command, cli: Cli): void {
  cli
    .database(
      program,
      'reencrypt',
      'Encrypts stored payloads with the current key, some at a time and while workers run: those of waiting jobs, dead letters and jobs\n' +
        'that have ended. The keys come from HOLDFAST_ENCRYPTION_KEYS and HOLDFAST_ENCRYPTION_CURRENT. Safe to run again; fails if\n' +
        'it cannot decrypt something, and names the key it was encrypted with.',
    )
    .summary('encrypt stored payloads with the current key')
    .option('--at-once <count>', 'how many payloads are read and written at once, 1 to 1000', '100')
    .action((options: Common & { atOnce?: string }) => reencrypt(cli, options))
}

async function reencrypt(cli: Cli, options: Common & { atOnce?: string }): Promise<void> {
  const { atOnce, json } = options
  const progress = new Progress(cli.io, 'looked at')
  const done = await cli
    .usingDatabase(options, 'to re-encrypt', (holdfast) =>
      holdfast.reencrypt({
        ...(atOnce === undefined ? {} : { atOnce: Number(atOnce) }),
        onProgress: ({ looked, about }) => progress.at(looked, about),
      }),
    )
    .finally(() => progress.end())
  const unreadable = Object.entries(done.unreadable)
  // They would be lost if somebody removed the old key after this.
  if (unreadable.length > 0) cli.exitCode = 1
  const { screen } = cli
  if (json) return screen.print(JSON.stringify(done, null, 2))
  screen.print(`Read ${done.looked} payloads; re-encrypted ${done.encrypted} of them with the key ${done.key}.`)
  for (const [why, count] of unreadable) screen.print(`${count} could not be re-encrypted: ${why}.`)
}
