import { type Command, Option } from 'commander'
import type { Enqueued } from '../../enqueue/enqueue.js'
import type { JobOptions } from '../../job/job-options.js'
import type { OnConflict } from '../../job/unique.js'
import { type Cli, type Common, moment, parsed } from '../cli.js'
import { defined } from '../defined.js'
import { examples } from '../examples.js'

interface EnqueueOptions extends Common {
  id?: string
  delay?: string
  at?: string
  priority?: number
  key?: string
  idempotencyKey?: string
  tag?: string[]
  approval?: true
  maxAttempts?: number
  expireIn?: string
  unique?: string
  onConflict?: OnConflict
}

/** `holdfast enqueue`. */
export function addEnqueue(program: Command, cli: Cli): void {
  cli
    .looking(program, 'enqueue', 'Stores one job. When the command has ended with 0, the job is durable.')
    .summary('store one job')
    .argument('<type>', 'the name of its type')
    .argument('[payload]', 'its payload as JSON; {} where it is left out')
    .option('--id <id>', 'a UUID of version 7 of your own: the same command run again stores no second job')
    .addOption(new Option('--delay <time>', 'due that much later than now, such as 1h').conflicts('at'))
    .option('--at <time>', 'due at this time, such as 2026-03-01T00:00:00Z')
    .addOption(new Option('--priority <n>', '0 (low) to 9 (high) (default: that of its type)').argParser(Number))
    .option('--key <key>', 'its concurrency key')
    .option('--idempotency-key <key>', 'a second job of its type with this key is not stored')
    .option('--tag <tag...>', 'words to find it by')
    .option('--approval', 'it waits until somebody approves it')
    .addOption(new Option('--max-attempts <n>', 'how often it is tried at most (default: as its type says)').argParser(Number))
    .option('--expire-in <time>', 'it ends expired where it has not started that much later, such as 1h')
    .option('--unique <key>', 'of the jobs of its type with this unique key only one stands (default: as its type says)')
    .addOption(
      new Option('--on-conflict <what>', 'what happens to a second one').choices(['reject', 'existing', 'replace', 'one_more']),
    )
    .addHelpText(
      'after',
      examples(
        'enqueue send_email \'{"to": "ada@example.com"}\' --delay 10m',
        'enqueue refund \'{"amount": 30}\' --approval --max-attempts 1 --expire-in 1d --unique refund-42',
      ),
    )
    .action((type: string, payload: string | undefined, options: EnqueueOptions) => enqueue(cli, type, payload ?? '{}', options))
}

async function enqueue(cli: Cli, type: string, payload: string, options: EnqueueOptions): Promise<void> {
  const { id, delay, at, priority, key, idempotencyKey, tag, approval, maxAttempts, expireIn, unique, onConflict } = options
  const value = parsed(payload, 'payload')
  const asked: JobOptions = defined({
    ...{ id, delay, priority, idempotencyKey, approval, maxAttempts, expireIn },
    unique: unique === undefined ? undefined : defined({ key: unique, onConflict }),
    ...{ concurrencyKey: key, tags: tag, runAt: at === undefined ? undefined : new Date(moment(at, '--at')) },
  })
  const stored = await cli.using(options, (operator) => operator.enqueue(type, value, asked))
  cli.answer(options, stored, () => `Job ${stored.id} ${became[stored.status]}.`)
}

/** What became of the enqueue, behind the id of the job that it answered with. */
const became: Record<Enqueued['status'], string> = {
  created: 'was stored',
  existing: 'has the same id or key, so nothing was stored',
  replaced: 'has the same unique key and got the new payload',
  debounced: 'has the same unique key, got the new payload and waits anew',
  queued_behind: 'was stored and starts when the job with the same unique key has ended',
}
