/**
 * The tutorial from the first line to the last, as a reader goes through it: in an empty directory, with the package as npm installs it, in
 * terminals that know no more than what was exported there.
 */
import { chmodSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { docsPage } from '../support/docs-page.js'
import { eventually } from '../support/facts.js'
import { freePort } from '../support/free-port.js'
import { clearUp } from '../support/holdfast-program.js'
import { pack, unbuiltCheckout } from '../support/packed.js'
import { Terminal } from '../support/terminals.js'

interface Block {
  language: string
  text: string
  /** The file that the text before it names. */
  file: string
  /** In which terminal the text before it says that it is typed; the first, if it says nothing. */
  terminal: Which
}
const terminals = ['first', 'second', 'third', 'fourth'] as const
type Which = (typeof terminals)[number]

/** What stays in the foreground, and what it says when it is there. */
const programs: [RegExp, RegExp][] = [
  [/ holdfast up /, /Ctrl-C stops everything/],
  [/ work /, /worker started/],
  [/ serve /, /server listening/],
]

/** What the page says in words of what is printed. */
const seen: Record<string, RegExp> = {
  'npx tsx send.ts slow@example.com': /^Welcome to slow@example.com$/m,
  'npx holdfast jobs ls --status completed': /send_email +completed +2\/3/,
  'npx tsx send.ts nobody@nowhere.example': /JobEndedError: .*nobody@nowhere\.example does not exist/,
  'npx holdfast dlq ls': /send_email .*nobody@nowhere\.example does not exist/,
  'npx tsx order.ts fail': /^\{ orders: 0 \}$/m,
  'npx tsx order.ts': /^\{ orders: 1 \}$/m,
  'npx holdfast jobs ls --status pending': /send_email +pending[\s\S]*send_email +pending/,
  'npx holdfast explain $LAST_MAIL': /send_email may start 3 jobs in 1h, [^\n]*\n +opens with time, in 5\dm/,
  'npx holdfast types release send_email --by ada': /^send_email {2}\d running$/m,
  'npx holdfast schedules ls': /report +\* \* \* \* \* .* active/,
  'npx tsx --test shop.test.ts': /^# pass 1$/m,
  'npx holdfast migrate': /up to date/,
  // The newest: it was enqueued over HTTP, and the worker that was compiled has run it.
  'npx holdfast jobs ls --type send_email': /^ID .*\n\S+ +send_email +completed/,
}
/** Refused as the page says. */
const fails = ['npx tsx send.ts nowhere', 'npx tsx send.ts nobody@nowhere.example']
/** A reader looks again, if what is to be seen is not there yet. */
const looks = /^(npx holdfast (jobs ls|dlq ls|schedules ls|explain)|curl \S+ \S+ \S+z$)/

function blocksOf(page: string): Block[] {
  let end = 0
  return [...page.matchAll(/```(\w+)\n([\s\S]*?)```/g)].map(({ index, 0: whole, 1: language, 2: text }) => {
    const between = page.slice(end, index)
    end = index + whole.length
    return {
      language: language as string,
      text: text as string,
      file: [...page.slice(0, index).matchAll(/`([\w.]+\.(?:ts|json))`/g)].at(-1)?.[1] as string,
      terminal: ([...between.matchAll(/(\w+) terminal/g)].at(-1)?.[1] ?? 'first') as Which,
    }
  })
}

let directory: string | undefined
afterEach(async () => {
  if (directory) await clearUp(directory)
  directory = undefined
})

test('the tutorial runs as it stands', { timeout: 900_000 }, async () => {
  const checkout = await unbuiltCheckout()
  const { file: tarball } = await pack(checkout)
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-tutorial-')))
  // As root, PostgreSQL runs as another user, who has to come in.
  chmodSync(directory, 0o755)
  const at = Object.fromEntries(terminals.map((which) => [which, new Terminal(directory as string)])) as Record<Which, Terminal>
  // The package is not in the registry; ports are of the reader's choice.
  const ports = { 8080: await freePort(), 7071: await freePort() }
  const asHere = (line: string) =>
    line
      .replace('npm install holdfast ', `npm install ${tarball} `)
      .replace(/\b(8080|7071)\b/g, (port) => String(ports[port as unknown as keyof typeof ports]))

  let printed = ''
  const typed: string[] = []
  for (const { language, text, file, terminal } of blocksOf(docsPage('tutorial.md'))) {
    if (language === 'ts' || language === 'json') writeFileSync(join(directory, file), text)
    if (language === 'text') expect(printed).toContain(text.trim())
    if (language !== 'sh') continue
    for (const line of text.trim().split('\n')) {
      typed.push(line)
      const [, ready] = programs.find(([program]) => program.test(`${line} `)) ?? []
      if (ready) {
        await at[terminal].interrupt()
        await at[terminal].start(asHere(line), ready)
        continue
      }
      const once = async () => {
        const { code, printed } = await at[terminal].type(asHere(line))
        expect(`${line} ended with ${code}\n${code === 0 ? '' : printed}`).toMatch(fails.includes(line) ? /with 1\n/ : /with 0\n/)
        if (seen[line]) expect(printed, line).toMatch(seen[line])
        return printed
      }
      printed = looks.test(line) ? await eventually(once, { within: 60_000, every: 500 }) : await once()
    }
  }
  expect(Object.keys(seen).filter((line) => !typed.includes(line))).toEqual([])
  expect(await at.third.terminate(), 'the worker').toBe(0)
  expect(await at.fourth.terminate(), 'the server').toBe(0)
  await at.second.interrupt()
  await checkout.remove()
})
