import { type Command, Option } from 'commander'
import type { EventAnswer, EventQuery } from '../../api/events.js'
import { eventKinds } from '../../job/event.js'
import { followPages } from '../../job/follow-pages.js'
import type { Cli, Common } from '../cli.js'
import { defined } from '../defined.js'
import { words } from '../screen.js'
import { errorText } from '../show/jobs.js'
import { oneLine } from '../table.js'

const pollMs = 1_000

/** `holdfast jobs tail`. */
export function addTail(jobs: Command, cli: Cli): void {
  cli
    .looking(jobs, 'tail', 'Shows what happens to jobs as it happens, until Ctrl-C; with --json a line for each event.')
    .option('--type <name>', 'only jobs of this type')
    .addOption(new Option('--kind <kind>', 'only this').choices(eventKinds))
    .option('--tag <tag...>', 'only jobs that have all of these tags')
    .option('--after <cursor>', 'from the event with this cursor on', 'now')
    .action((options: Common & { type?: string; kind?: EventQuery['kind']; tag?: string[]; after: string }) => {
      const { type, kind, tag: tags, after } = options
      const signal = cli.io.stop
      return cli.using(options, async ({ events }) => {
        const read = (from: string | undefined) => events.page(defined({ type, kind, tags, after: from }))
        for await (const event of followPages<EventAnswer>(read, { after, pollMs, signal })) {
          cli.screen.print(options.json ? JSON.stringify(event) : line(event))
        }
      })
    })
}

function line({ at, kind, job, type, attempt, error, reason }: EventAnswer): string {
  const parts = [at, job, type, words(kind), `attempt ${attempt}`, reason ?? '', errorText(error)]
  return parts
    .filter((part) => part !== '')
    .map(oneLine)
    .join('  ')
}
