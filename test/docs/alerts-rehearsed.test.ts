/** What docs/alerts.md has people do about each alert is typed on a shop in trouble, as it stands, and each command does it. */
import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { typing } from '../support/cli.js'
import { docsPage } from '../support/docs-page.js'
import { makeQueue } from '../support/queue.js'

const page = docsPage('alerts.md')
const rules = page
  .slice(page.indexOf('## What to do'))
  .split(/^### /m)
  .slice(1)
  .map((text) => ({
    rule: text.split('\n')[0] as string,
    commands: [...text.matchAll(/`holdfast ([^`]+)`/g)].map(([, words]) => words as string),
  }))

test('every command that the page names for an alert does what it says', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  const names = ['send_email', 'import_row', 'make_report', 'sync_crm', 'send_code']
  await holdfast.registerTypes(names.map((type) => defineType({ type, run() {} })))
  const waiting = async () => (await holdfast.enqueue('send_email', {}, { delay: '1h' })).id
  const dead = async () => {
    const id = await waiting()
    await holdfast.bury(id, { by: 'ada' })
    return id
  }
  const type = typing({ DATABASE_URL: queue.url })
  const key = async () => {
    const { out } = await type(['keys', 'create', 'a-service', '--role', 'producer', '--json'])
    return String(JSON.parse(out).id)
  }
  const makes: Record<string, () => Promise<string>> = { dlq: dead, keys: key }
  const typed: string[] = []
  for (const { rule, commands } of rules) {
    // A worker goes on until it is stopped, and `top` until it is left.
    for (const command of commands.filter((one) => !one.startsWith('work '))) {
      const words = command === 'top' ? ['top', '--once'] : command.split(' ')
      if (words[1] === 'replay') await dead()
      const at = words.indexOf('<id>')
      if (at > 0) words[at] = await (makes[words[0] as string] ?? waiting)()
      const { code, out, err } = await type(words, { says: 'yes' })
      // A check-up that finds something does not end with 0; the server of the tests is set as none in production.
      if (words[0] !== 'doctor') expect(code, `${rule}: holdfast ${words.join(' ')}: ${err}${out}`).toBe(0)
      typed.push(command)
    }
  }
  expect(typed.length).toBeGreaterThan(30)

  // And what was done is there: the last words about each.
  const gates = new Map((await holdfast.flow.gates()).map((gate) => [gate.type, gate]))
  expect(gates.get('make_report')).toMatchObject({ maxRunning: 1 })
  expect(gates.get('sync_crm')).toMatchObject({ maxRunning: 5 })
  expect(gates.get('import_row')).toMatchObject({ rate: { count: 50 } })
  const lanes = await holdfast.flow.lanes()
  expect(lanes.find(({ name }) => name === 'urgent')).toMatchObject({ slots: 5, types: ['send_code'] })
  expect(lanes.find(({ name }) => name === 'default')).toMatchObject({ leaseMs: 300_000 })
})
