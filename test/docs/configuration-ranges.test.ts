import { join } from 'node:path'
import { defineSchedule, defineType, defineWorkflow, Holdfast } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { startRemoteWorker } from 'holdfast/remote-worker'
import { createServer } from 'holdfast/server'
import { runJob } from 'holdfast/testing'
import { smoke } from 'holdfast/worker'
import { expect, test } from 'vitest'
import { toMilliseconds } from '../../src/job/duration.js'
import { configurationRows } from '../support/configuration-rows.js'
import { docsPage } from '../support/docs-page.js'
import { adminKey, quiet } from '../support/serving.js'
import { repository } from '../support/source.js'

type Options = Record<string, unknown>
type Take = (options: Options) => unknown

// Nobody listens there: what is refused is refused before anything is asked of a database, and what is taken fails there.
const nowhere = { connectionString: 'postgres://localhost:1/nothing', retryEnqueueFor: 0 }
const keys = { a: Buffer.alloc(32).toString('base64') }
const holdfast = new Holdfast({ ...nowhere, encryption: { keys, current: 'a' } })
const client = new HoldfastClient({ url: 'http://localhost:1', key: 'k', tries: 1 })
const server = createServer(new Holdfast(nowhere), { adminKey, logger: quiet })
const mail = defineType({ type: 'mail', run: () => {} })
const id = '01890a5d-ac96-774b-bcce-b302099a8057'
const who = { by: 'ada', why: 'to see' }
const signal = AbortSignal.abort(new Error('not waited for'))

/** Of an enqueue, which would be sent for an hour. */
const soon = () => ({ signal: AbortSignal.timeout(1) })

/** Definitions have the generic types of what they define. */
// biome-ignore lint/suspicious/noExplicitAny: any number is given
const any = (options: Options): any => options
const typeWith: Take = (options) => defineType({ type: 'mail', ...any(options) })
const first = async (iterable: AsyncIterable<unknown>) => iterable[Symbol.asyncIterator]().next()
const remotely = (reached: Options, options: Options) =>
  startRemoteWorker({ url: 'nowhere', key: 'k', ...reached }, [mail], options).catch((error) => {
    // The address is always refused; whether an option is, stands beside it.
    if (error.issues.length > 1) throw error
  })
const drain: Take = async (options) => {
  const { drain } = await import(join(repository, 'dist', 'testing', 'drain.js'))
  return drain(holdfast, [mail], options)
}
const workerWith: Take = async (options) => {
  const { readWorkerOptions } = await import(join(repository, 'dist', 'worker', 'options.js'))
  return readWorkerOptions(options)
}
const overHttp: Take = async (options) => {
  const headers = { authorization: `Bearer ${adminKey}` }
  const payload = { workflow: 'order', input: {}, ...options }
  const answer = await server.inject({ method: 'POST', url: '/executions', headers, payload })
  if (answer.statusCode === 400) throw Object.assign(new Error(answer.body), { code: 'invalid_option' })
}
const stepWith: Take = async (options) => {
  const type = defineType({ type: 'mail', run: (_, { step }) => step('one', () => 1, any(options)) })
  const { error } = await runJob(type, {}, { maxAttempts: 1 })
  if (error) throw Object.assign(error, { code: /must|refused/.test(error.message) ? 'invalid_option' : 'other' })
}

/** How the options of each section are given. */
const takes: Record<string, Take> = {
  '`new Holdfast(options)`': (options) => new Holdfast({ ...nowhere, ...options }),
  '`defineType(definition)`': typeWith,
  '`defineType(definition)`: isolation': (options) => typeWith({ isolation: 'thread', ...options }),
  '`chunk` of a type': (options) => typeWith({ chunk: { size: 2, ...options } }),
  '`limits` of a type': (limits) => typeWith({ limits }),
  '`unique` of a type or a job': ({ period, ...debounce }) =>
    typeWith({
      unique: period === undefined ? { onConflict: 'debounce', delay: 1, ...debounce } : { period, onConflict: 'existing' },
    }),
  '`approval` of a type or a job': (approval) => typeWith({ approval }),
  '`enqueue(type, payload, options)`': (options) => holdfast.enqueueMany([mail.job({}, any(options))], soon()),
  '`enqueueMany(jobs, options)`': (options) => holdfast.enqueueMany([mail.job({})], { ...soon(), ...options }),
  '`wait(job, options)`': (options) => holdfast.wait(id, { signal, ...options }),
  '`startWorker(holdfast, types, options)`': workerWith,
  '`reading` of a server': (reading) => createServer(new Holdfast(nowhere), { reading }),
  '`new HoldfastClient(options)`': (options) => new HoldfastClient({ url: 'http://localhost', key: 'k', ...options }),
  '`startRemoteWorker(server, types, options)`: the server': (options) => remotely(options, {}),
  '`startRemoteWorker(server, types, options)`': (options) => remotely({}, options),
  '`BatchStoreOptions`': async (options) => {
    const own = new Holdfast(nowhere)
    const creating = own.batches.create({ jobs: [mail.job({})] }, options)
    // It would be sent for an hour; what is closed is not sent again.
    const [made] = await Promise.allSettled([creating, own.close()])
    if (made.status === 'rejected') throw made.reason
  },
  '`ClientFollowOptions`': async (options) => first(client.events.follow({ signal, ...options })),
  '`ClientStartOptions`': overHttp,
  '`DepthFields`': (options) => holdfast.flow.limitDepth('queue', options, who),
  '`DoctorOptions`': (options) => holdfast.doctor(options),
  '`DrainOptions`': drain,
  '`ExecutionWaitOptions`': (options) => holdfast.executions.wait(id, { signal, ...options }),
  '`FollowOptions`': async (options) => first(holdfast.events.follow({ signal, ...options })),
  '`JobTaskOptions`': (options) =>
    defineWorkflow({ name: 'order', tasks: (task) => task('one', { type: mail, ...any(options) }) }),
  '`KeyFields`': (options) => holdfast.access.createKey({ service: 'shop', roles: ['viewer'], ...options }, who),
  '`LaneFields`': (options) => holdfast.flow.setLane('bulk', options, who),
  '`ManyOptions`': (options) => holdfast.deadLetters.discardMany({ all: true }, who, options),
  '`ArchiveOptions`': (options) => holdfast.archive(async () => {}, options),
  '`ReencryptOptions`': (options) => holdfast.reencrypt(options),
  '`RuleFields`': (options) => holdfast.alerts.setRule('many', { kind: 'depth', ...options }, who),
  '`RunJobOptions`': (options) => runJob(mail, {}, options),
  '`ScheduleDefinition`': (options) =>
    defineSchedule({ name: 'nightly', type: mail, ...('every' in options ? {} : { cron: '@daily' }), ...any(options) }),
  '`SmokeOptions`': (options) => smoke(holdfast, [mail], { build: 'new', ...options }),
  '`StartOptions`': (options) => holdfast.start('order', {}, options),
  '`StepOptions`': stepWith,
  '`TaskPageOptions`': (options) => holdfast.executions.tasks(id, options),
  '`VerifyOption`': (verify) => typeWith({ verify: { check: () => true, ...verify } }),
  '`VerdictOptions`': (options) => holdfast.approve(id, who, options),
}

/** What is made of several numbers or times: what is refused, and what is taken just inside of it. */
const madeOfSeveral: Record<string, { refused: unknown[]; taken: unknown[] }> = {
  backoff: {
    refused: [{ base: -1 }, { base: '31d', cap: '30d' }, { cap: '31d' }, { jitter: '31d' }, { base: '2h' }, { factor: 0.9 }],
    taken: [{ base: 0, cap: 0, jitter: 0 }, { base: '30d', cap: '30d', jitter: '30d' }, { factor: 1 }],
  },
  recycle: {
    refused: [{ jobs: 0 }, { jobs: 1_000_000_001 }, { memory: 0 }, { memory: 1_048_577 }],
    taken: [
      { jobs: 1, memory: 1 },
      { jobs: 1_000_000_000, memory: 1_048_576 },
    ],
  },
  rate: {
    refused: [rate(0, 1), rate(1_000_001, 1), rate(1, 0), rate(1, 86_400_001)],
    taken: [rate(1, 1), rate(1_000_000, '1d')],
  },
  breaker: {
    refused: [{ share: 0 }, { share: 1 }, { minimum: 0 }, { minimum: 1_000_001 }, { window: 0 }, { probe: 86_400_001 }],
    taken: [
      { share: 0.01, minimum: 1, window: 1, probe: 1 },
      { share: 0.99, minimum: 1_000_000, window: '1d', probe: '1d' },
    ],
  },
  retention: {
    refused: [{ completed: '23h' }, { dead: '3651d' }],
    taken: [{ completed: '1d', dead: '3650d' }],
  },
  share: { refused: [0, 1.01], taken: [0.001, 1] },
  pace: { refused: [0, 100_001], taken: [0.01, 100_000] },
  throughTime: { refused: [-1, '36526d'], taken: [0, '36525d', true] },
  retry: { refused: [0, 21, { attempts: 21 }, { attempts: 1, backoff: { base: '31d' } }], taken: [1, 20, { attempts: 20 }] },
}
madeOfSeveral.ratePerKey = madeOfSeveral.rate as { refused: unknown[]; taken: unknown[] }

function rate(count: number, per: number | string) {
  return { count, per }
}

const days = { 'five years': 5 * 365, '10 years': 3650, '100 years': 36_525 }

/** `1 to 20`, `100 ms to 7 days`, `0 to five years`; what stands behind a comma or semicolon is said of other options. */
function boundsIn(range: string): { low: number; high: number } {
  const [, from, to] = /^([\d,]+(?: \w+)?) to ([\w,]+(?: \w+)?)(?:[;,] .*)?$/.exec(range.trim()) ?? []
  if (from === undefined || to === undefined) throw new Error(`${range} is not the range of one number or time`)
  const bound = (text: string) => {
    const years = days[text as keyof typeof days]
    if (years !== undefined) return years * 86_400_000
    const plain = text.replaceAll(',', '')
    return /^\d+$/.test(plain) ? Number(plain) : toMilliseconds(text, range)
  }
  return { low: bound(from), high: bound(to) }
}

const around = ({ low, high }: { low: number; high: number }) => ({ refused: [low - 1, high + 1], taken: [low, high] })

const numbers = configurationRows(docsPage('configuration.md')).filter(({ isNumber }) => isNumber)

test('what the ranges are read from is the whole page', () => {
  expect(numbers.length).toBeGreaterThan(80)
  expect(Object.keys(takes).sort()).toEqual([...new Set(numbers.map(({ section }) => section))].sort())
})

test.each(numbers)('the range of a number or time is what is taken: $section $name', async ({ section, name, range }) => {
  const take = takes[section] as Take
  const { refused, taken } = madeOfSeveral[name] ?? around(boundsIn(range))
  for (const value of refused) expect(await codeOf(take, { [name]: value }), `${name}: ${JSON.stringify(value)}`).toMatch(invalid)
  for (const value of taken)
    expect(await codeOf(take, { [name]: value }), `${name}: ${JSON.stringify(value)}`).not.toMatch(invalid)
})

const invalid = /^invalid_(?:option|configuration)$/

/** The code of the error; that of no error is empty. */
async function codeOf(take: Take, options: Options): Promise<string> {
  try {
    await take(options)
    return ''
  } catch (error) {
    return String((error as { code?: unknown }).code)
  }
}
