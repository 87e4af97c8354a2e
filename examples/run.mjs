// npm run example [<name>] [-- --stay]: runs one of the five systems on a database of its own, and says what to look at.

import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { setStage } from './support/stage.mjs'

const here = new URL('.', import.meta.url)
const names = readdirSync(here).filter((name) => existsSync(new URL(`${name}/main.mjs`, here)))
const [name, ...flags] = process.argv.slice(2)
if (!names.includes(name) || flags.some((flag) => flag !== '--stay')) {
  console.error(
    `usage: npm run example <name> [-- --stay]\n\nExamples: ${names.join(', ')}. With --stay the dashboard stays until Ctrl-C.`,
  )
  process.exit(name ? 2 : 0)
}

// Before there is anything to undo, so that whoever interrupts leaves nothing behind.
const stopped = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
const stage = await setStage({ dashboard: true })
try {
  const { play } = await import(new URL(`${name}/main.mjs`, here))
  await Promise.race([play(stage), stopped])
  if (flags.includes('--stay')) {
    stage.say('\nThe dashboard stays until Ctrl-C.')
    await stopped
  }
} finally {
  await stage.end()
}
process.exit()
