import { tmpdir } from 'node:os'
import { defineType, Holdfast } from 'holdfast'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Program } from '../support/holdfast-program.js'

const email = defineType({ type: 'send_email' })

let scratch: ScratchDatabase
let holdfast: Holdfast

beforeEach(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  holdfast = new Holdfast({ connectionString: scratch.connectionString })
})
afterEach(async () => {
  await holdfast.close()
  await scratch.drop()
})

test('holdfast explain names every gate that is shut, the first one first, and what opens it', async () => {
  await holdfast.registerTypes([email])
  await holdfast.flow.pauseType('send_email', { by: 'ada', why: 'the mail server is down' })
  const { id } = await holdfast.enqueue(email, { to: 'grace@example.com' })
  expect(await explain(id)).toEqual({
    code: 0,
    complaints: '',
    output: [
      `${id}  send_email  pending`,
      '',
      '  send_email was paused by ada (the mail server is down)',
      '  opens with resuming send_email',
      '',
      'and then:',
      '  no live worker handles send_email',
      '  opens with starting a worker with send_email',
      '',
    ].join('\n'),
  })
})

test('holdfast explain --json says the same for a program', async () => {
  const { id } = await holdfast.enqueue(email, {}, { delay: '1h' })
  const { output } = await explain(id, '--json')
  expect(JSON.parse(output)).toMatchObject({ id, type: 'send_email', status: 'scheduled', gates: [{ gate: 'scheduled' }] })
})

test('a job that does not exist, and an id that is none, are said in one line', async () => {
  const unknown = await explain('01890000-0000-7000-8000-000000000001')
  expect(unknown).toMatchObject({ code: 1, output: '' })
  expect(unknown.complaints).toMatch(/^holdfast: there is no job 01890000-[^\n]*\n$/)
  expect((await explain('nonsense')).complaints).toBe('holdfast: there is no schedule named "nonsense"\n')
})

async function explain(...args: string[]) {
  const program = new Program(tmpdir(), ['explain', ...args], { env: { DATABASE_URL: scratch.connectionString } })
  const code = await program.ended
  return { code, output: program.output, complaints: program.complaints }
}
