import type { Command } from 'commander'
import { sleep, wallMs } from '../../clock.js'
import { toMilliseconds } from '../../job/duration.js'
import { refused } from '../../job/refused.js'
import type { Cli, Common } from '../cli.js'
import { examples } from '../examples.js'
import type { LiveTerminal } from '../io.js'
import type { Operator } from '../operator/operator.js'
import { oneLine } from '../table.js'
import { LivePicture } from '../top/live.js'
import { pictureOf } from '../top/picture.js'
import { readSnapshot, type Snapshot } from '../top/snapshot.js'

interface TopOptions extends Common {
  once?: boolean
  interval?: string
}

const usualMs = 2_000
/** What a program that ends by a signal ends with, as shells do. */
const signalCodes: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }

/** `holdfast top`. */
export function addTop(program: Command, cli: Cli): void {
  cli
    .looking(
      program,
      'top',
      'Shows what goes on, live: how much waits, comes in and goes out, fails and runs, by type and lane; workers; what is shut.\n' +
        'q or Ctrl-C ends it. Where no terminal is there to draw on, it prints once.',
    )
    .summary('watch lanes, types and workers live in the terminal')
    .option('--once', 'print it once and end')
    .option('--interval <time>', 'how often it looks, 500ms to 1h (default: 2s); with --json a line each time')
    .addHelpText('after', examples('top', 'top --interval 5s', 'top --once --json'))
    .action((options: TopOptions) => top(cli, options))
}

async function top(cli: Cli, options: TopOptions): Promise<void> {
  const everyMs = options.interval === undefined ? usualMs : intervalOf(options.interval)
  const { io } = cli
  await cli.using(options, async (operator) => {
    if (options.json) return printLines(cli, operator, options, everyMs)
    if (options.once || !io.live || !io.out.isTTY) {
      const now = await readSnapshot(operator, wallMs())
      return cli.screen.print(pictureOf(cli.screen, now, { width: cli.screen.width, height: undefined }).join('\n'))
    }
    await drawLive(cli, operator, io.live, everyMs)
  })
}

async function printLines(cli: Cli, operator: Operator, options: TopOptions, everyMs: number): Promise<void> {
  for (;;) {
    const now = await readSnapshot(operator, wallMs())
    if (options.once || options.interval === undefined) return cli.answer(options, now, () => '')
    cli.screen.print(JSON.stringify(now))
    await sleep(everyMs, { signal: cli.io.stop })
    if (cli.io.stop.aborted) return
  }
}

async function drawLive(cli: Cli, operator: Operator, terminal: LiveTerminal, everyMs: number): Promise<void> {
  // Before the terminal is taken: a database that is away is an error like any other.
  let now = await readSnapshot(operator, wallMs())
  let trouble = ''
  const stop = new AbortController()
  cli.io.stop.addEventListener('abort', () => stop.abort(), { once: true })
  const picture = new LivePicture(cli.io.out, terminal, {
    key: (key) => {
      if (['q', 'Q', '\u0003', '\u001b'].includes(key)) stop.abort()
    },
    stop: (signal) => {
      cli.exitCode = signalCodes[signal] ?? 1
      stop.abort()
    },
    resize: () => draw(),
  })
  const draw = () => picture.draw(screenful(cli, now, trouble, everyMs))
  try {
    while (!stop.signal.aborted) {
      draw()
      await sleep(everyMs, { signal: stop.signal })
      if (stop.signal.aborted) break
      // One that is away for a while is waited for: whoever watches wants to see it come back.
      await readSnapshot(operator, wallMs()).then(
        (next) => {
          now = next
          trouble = ''
        },
        (error: Error) => {
          trouble = error.message
        },
      )
    }
  } finally {
    picture.close()
  }
}

function screenful({ screen, io }: Cli, now: Snapshot, trouble: string, everyMs: number): string[] {
  const { columns: width = 80, rows: height = 24 } = io.out
  const time = new Date(wallMs()).toISOString().slice(11, 19)
  const head = `holdfast top  ${time} UTC  every ${everyMs / 1_000}s  q ends it`
  const said = trouble === '' ? [] : [screen.red(oneLine(trouble).slice(0, width))]
  const room = { width, height: height - 2 - said.length }
  return [screen.dim(head.slice(0, width)), ...said, '', ...pictureOf(screen, now, room)]
}

function intervalOf(given: string): number {
  const ms = toMilliseconds(given, '--interval')
  if (ms >= 500 && ms <= 3_600_000) return ms
  throw refused('--interval', `is ${given}; it must be 500ms to 1h`)
}
