import { defineType, Holdfast, HoldfastError, Holdfasts } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { startPostgres } from 'holdfast/dev'
import { startRemoteWorker } from 'holdfast/remote-worker'
import { createServer } from 'holdfast/server'
import { runJob, scratchQueue } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import { describe, expect, test } from 'vitest'

// Nobody listens there: what is wrong with options is told before anything is asked of a database.
const nowhere = { connectionString: 'postgres://localhost:1/nothing' }
const mail = defineType({ type: 'mail', run: () => {} })

/** What an error says is wrong, by its field. */
async function problemsOf(act: () => unknown): Promise<Record<string, string>> {
  const error = await Promise.resolve()
    .then(act)
    .then(
      () => new Error('nothing was refused'),
      (refused: unknown) => refused,
    )
  if (!(error instanceof HoldfastError)) throw error
  for (const { problem } of error.issues) expect(error.message).toContain(problem)
  return Object.fromEntries(error.issues.map(({ path, problem }) => [path.join('.'), problem]))
}

describe('all that is wrong is told at once', () => {
  test('with the options of a Holdfast', async () => {
    const options = { ...nowhere, conections: 3, connections: 0, statementTimeout: 'soon', redact: 'card', schema: 'pg_x' }
    expect(await problemsOf(() => new Holdfast(options as never))).toEqual({
      conections: expect.stringContaining('did you mean "connections"?'),
      connections: 'is 0; it must be a whole number from 1 to 10000',
      statementTimeout: expect.stringContaining('is "soon"'),
      redact: expect.stringContaining('must be a list of paths'),
      schema: expect.stringContaining('must not begin with pg_'),
    })
  })

  test('with the keys of encryption, and never a key itself', async () => {
    const encryption = { keys: { 'a b': 'c2VjcmV0', b: 'c2VjcmV0' }, current: 'x', al: true }
    const problems = await problemsOf(() => new Holdfast({ ...nowhere, encryption } as never))
    expect(Object.keys(problems).sort()).toEqual([
      'encryption.al',
      'encryption.current',
      'encryption.keys.a b',
      'encryption.keys.b',
    ])
    expect(JSON.stringify(problems)).not.toContain('c2VjcmV0')
  })

  test('with the options of a worker', async () => {
    const holdfast = new Holdfast(nowhere)
    const options = { concurency: 1, concurrency: 0, lease: '1s', poll: 'often', retention: { dead: '1m', died: 1 }, name: 'a\0' }
    expect(Object.keys(await problemsOf(() => startWorker(holdfast, [mail], options as never))).sort()).toEqual(
      ['concurency', 'concurrency', 'lease', 'name', 'poll', 'retention.dead', 'retention.died'].sort(),
    )
  })

  test('with the options of a server', async () => {
    const options = { adminKey: 'short', tsl: {}, tls: { cert: 'x', kye: 'y' }, reading: { connections: 0, within: 'long' } }
    expect(Object.keys(await problemsOf(() => createServer(new Holdfast(nowhere), options as never))).sort()).toEqual(
      ['adminKey', 'reading.connections', 'reading.within', 'tls.key', 'tls.kye', 'tsl'].sort(),
    )
  })

  test('with the options of a client', async () => {
    const options = { url: 'here', keey: 'k', tries: 0 }
    expect(Object.keys(await problemsOf(() => new HoldfastClient(options as never))).sort()).toEqual(
      ['keey', 'key', 'tries', 'url'].sort(),
    )
  })

  test('with the definition of a type', async () => {
    const definition = {
      ...{ type: 'mail', priorty: 1, priority: 10, timeout: '8d', sensitive: 'yes' },
      ...{ backoff: { base: 'x', factor: 0, jiter: 1 }, approval: { quorum: 0, quorun: 2, onDeadline: 'wait' } },
      ...{
        unique: { key: '', onConflict: 'win', stats: [], states: [], period: 0 },
        redact: ['a..b'],
        maxAttempts: 0,
        limits: { fair: 'maybe' },
      },
    }
    expect(Object.keys(await problemsOf(() => defineType(definition as never))).sort()).toEqual(
      [
        ...['approval.onDeadline', 'approval.quorum', 'approval.quorun', 'backoff.base', 'backoff.factor', 'backoff.jiter'],
        ...['limits.fair', 'maxAttempts', 'priority', 'priorty', 'redact', 'sensitive', 'timeout'],
        ...['unique.key', 'unique.onConflict', 'unique.period', 'unique.states', 'unique.stats'],
      ].sort(),
    )
  })

  test('with a job to enqueue, and which of many it is', async () => {
    const holdfast = new Holdfast(nowhere)
    const wrong = { priority: 11, maxAttempt: 3, delay: 'soon', concurrencyKey: '', payload: { at: Number.NaN } }
    const enqueue = () => holdfast.enqueueMany([mail.job({}), { type: mail, ...wrong } as never])
    expect(await problemsOf(enqueue)).toEqual({
      maxAttempt: expect.stringContaining('did you mean "maxAttempts"?'),
      priority: 'is 11; it must be a whole number from 0 to 9',
      delay: expect.stringContaining('is "soon"'),
      concurrencyKey: expect.stringContaining('1 to 500 characters'),
      'payload.at': expect.stringContaining('NaN'),
    })
    await expect(enqueue()).rejects.toMatchObject({ code: 'invalid_option', index: 1 })
  })
})

const id = '01890a5d-ac96-774b-bcce-b302099a8057'
const who = { by: 'ada' }
const all = { all: true } as const
const range = { from: new Date(0), to: new Date(1) }
const calls: Record<string, (options: never, holdfast: Holdfast) => unknown> = {
  'cancelMany dryrun': (options, holdfast) => holdfast.cancelMany(all, who, options),
  'runNowMany dryrun': (options, holdfast) => holdfast.runNowMany(all, who, options),
  'deadLetters.replayMany dryrun': (options, { deadLetters }) => deadLetters.replayMany(all, who, options),
  'deadLetters.discardMany at_most': (options, { deadLetters }) => deadLetters.discardMany(all, who, options),
  'deadLetters.replay confirmed': (options, { deadLetters }) => deadLetters.replay(id, who, options),
  'deadLetters.list limits': (options, { deadLetters }) => deadLetters.list({}, options),
  'enqueueMany pase': (options, holdfast) => holdfast.enqueueMany([mail.job({})], options),
  'wait timeOut': (options, holdfast) => holdfast.wait(id, options),
  'jobs curser': (options, holdfast) => holdfast.jobs({}, options),
  'log limits': (options, holdfast) => holdfast.log(id, options),
  'registerTypes updat': (options, holdfast) => holdfast.registerTypes([mail], options),
  'schedules.prune dryrun': (options, { schedules }) => schedules.prune(who, options),
  'schedules.backfill dryrun': (options, { schedules }) => schedules.backfill('nightly', range, who, options),
  'schedules.list limits': (options, { schedules }) => schedules.list(options),
  'batches.create TX': (options, { batches }) => batches.create({ jobs: [mail.job({})] }, options),
  'executions.wait timeOut': (options, { executions }) => executions.wait(id, options),
  'executions.list limits': (options, { executions }) => executions.list({}, options),
  'scratchQueue shema': (options) => scratchQueue(options),
  'runJob attempts': (options) => runJob(mail, {}, options),
  'startPostgres datadir': (options) => startPostgres(options),
  'access.rotateKey grase': (options, { access }) => access.rotateKey(1, who, options),
}

test.each(Object.entries(calls))('an option that nobody knows is refused with the nearest name: %s', async (name, call) => {
  const option = name.split(' ')[1] as string
  const problems = await problemsOf(() => call({ [option]: true } as never, new Holdfast(nowhere)))
  expect(problems[option]).toMatch(/is not known \(did you mean "\w+"\?\)/)
})

test('so is one inside of limits and isolation', async () => {
  const definition = { type: 'mail', limits: { rate: { count: 1, pr: '1s' } }, isolation: 'thread', recycle: { job: 1 } }
  expect(Object.keys(await problemsOf(() => defineType(definition as never))).sort()).toEqual(['limits.rate.pr', 'recycle.job'])
})

/** Calls this while the environment has these variables; it has to read them before it waits for anything. */
function withVariables<Result>(variables: Record<string, string>, act: () => Result): Result {
  Object.assign(process.env, variables)
  try {
    return act()
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name]
  }
}

describe('a variable whose name is nearly one of ours is refused with the one that was meant', () => {
  const misspelt = { HOLDFAST_ENCRYPTION_KEY: 'a:c2VjcmV0', HOLDFAST_REDCAT: 'card', HOLFDAST_SCHEMA: 'jobs' }
  const meant = {
    HOLDFAST_ENCRYPTION_KEY: 'is not known (did you mean "HOLDFAST_ENCRYPTION_KEYS"?)',
    HOLDFAST_REDCAT: 'is not known (did you mean "HOLDFAST_REDACT"?)',
    HOLFDAST_SCHEMA: 'is not known (did you mean "HOLDFAST_SCHEMA"?)',
  }
  const server = { url: 'http://localhost:1', key: 'k' }
  const makers: Record<string, () => unknown> = {
    'a Holdfast': () => new Holdfast(nowhere),
    'a Holdfast of each member': () => new Holdfasts({ members: { eu: nowhere, us: { ...nowhere, schema: 'us' } } }),
    'a remote worker': () => startRemoteWorker(server, [mail]),
    'a scratch queue': () => scratchQueue(nowhere),
  }
  test.each(Object.entries(makers))('by %s, and no value is repeated', async (_, make) => {
    const problems = await problemsOf(() => withVariables(misspelt, make))
    expect(problems).toEqual(meant)
    expect(JSON.stringify(problems)).not.toContain('c2VjcmV0')
  })

  test('beside what else is wrong, once', async () => {
    const wrong = { HOLDFAST_REDCAT: 'card', HOLDFAST_ENCRYPTION_ALL: 'yes' }
    const make = () => new Holdfasts({ members: { eu: nowhere, us: { ...nowhere, schema: 'us' } } })
    const error = await Promise.resolve()
      .then(() => withVariables(wrong, make))
      .catch((refused: unknown) => refused)
    expect((error as HoldfastError).issues.map(({ path }) => path.join('.'))).toEqual([
      'HOLDFAST_REDCAT',
      'HOLDFAST_ENCRYPTION_ALL',
    ])
  })

  test('but not one of the programs around it, of Kubernetes, or of a lane, which its worker reads', () => {
    const others = {
      HOLDFAST_SOMETHING_ELSE: '1',
      HOLDFAST_PORT_80_TCP_ADDR: '10.0.0.7',
      HOLDFAST_LANE_BULK_SLOTS: '4',
      HOSTNAME_OF_US: 'a',
    }
    expect(withVariables(others, () => new Holdfast(nowhere))).toBeInstanceOf(Holdfast)
  })
})

test('one that is wrong alone is told in one sentence, with its parts', async () => {
  expect(() => defineType({ type: 'mail', priority: 10 })).toThrow(
    expect.objectContaining({
      message: 'priority is 10; it must be a whole number from 0 to 9',
      field: 'priority',
      issues: [expect.objectContaining({ path: ['priority'], value: 10, expected: 'a whole number from 0 to 9' })],
    }),
  )
})
