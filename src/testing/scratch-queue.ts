import { Holdfast } from '../holdfast.js'
import { insideOf } from '../inside.js'
import { refuseUnknown } from '../job/refused.js'
import type { AnyJobType, JobType } from '../job/type.js'
import { defaultSchema } from '../store/schema-name.js'
import type { AnyWorkflow } from '../workflow/typed.js'
import { checkExpectation, type Expectation, expectEnqueued, expectNotEnqueued, type PartOf } from './assert-enqueued.js'
import { type DrainOptions, type DrainReport, drain } from './drain.js'
import { type EnqueuedJob, nameOf, type PayloadOf, readEnqueued } from './enqueued.js'
import { type JobRun, type RunJobOptions, runJobWith } from './run-job.js'
import { makeScratchDatabase, makeScratchSchema } from './scratch-database.js'
import { findTestServer } from './server.js'
import { TestClock } from './test-clock.js'

/** Where the scratch database is made. */
export interface ScratchQueueOptions {
  /**
   * A server on which databases may be made.
   * @default HOLDFAST_TEST_URL, DATABASE_URL, or an embedded PostgreSQL
   */
  connectionString?: string
  /**
   * Makes a schema of its own in the database of the address instead of a database, for users who may not create databases. It takes some ten
   * times as long, and code that makes a `Holdfast` of its own has to name the schema.
   * @default false
   */
  schema?: boolean
}

/** A queue of its own for one test or one file of tests: a real database, gone when it is closed. */
export interface ScratchQueue extends AsyncDisposable {
  /** What the code under test enqueues with. */
  readonly holdfast: Holdfast
  /** The scratch database, for code that opens its own connections. */
  readonly connectionString: string
  /** The schema that holds everything in it: `holdfast`, unless the queue was made with `schema`. */
  readonly schema: string
  /** The clock of the scratch database, which a test can move. */
  readonly clock: TestClock
  /** Runs what is due of these types and workflows, here and now, and tells what became of it. */
  drain(types: readonly (AnyJobType | AnyWorkflow)[], options?: DrainOptions): Promise<DrainReport>
  /** Runs the handler once, as `runJob` does, and also tells what it enqueued here; `completeWith` gets a transaction of this database. */
  runJob<Input, Output, Result>(
    type: JobType<Input, Output, Result>,
    payload: Input,
    options?: RunJobOptions,
  ): Promise<JobRun<Result> & { enqueued: EnqueuedJob[] }>
  /** The jobs that have not come to an end, in the order they were enqueued. */
  enqueued(): Promise<EnqueuedJob[]>
  enqueued<Type extends AnyJobType | string>(type: Type): Promise<EnqueuedJob<PayloadOf<Type>>[]>
  /** The jobs that fit; throws an AssertionError that lists what there is instead when none does, or not `count`. */
  assertEnqueued<Type extends AnyJobType | string>(
    type: Type,
    payload?: PartOf<PayloadOf<Type>>,
    expectation?: Expectation,
  ): Promise<EnqueuedJob<PayloadOf<Type>>[]>
  /** Throws an AssertionError that lists what there is when a job fits. */
  assertNotEnqueued<Type extends AnyJobType | string>(
    type: Type,
    payload?: PartOf<PayloadOf<Type>>,
    expectation?: Omit<Expectation, 'count'>,
  ): Promise<void>
  /** Closes the connections and removes the database. Workers of your own should have stopped. */
  close(): Promise<void>
}

/**
 * Makes a queue for a test. The first one of a process may take seconds, each further one some 50 ms.
 * @example
 * import { scratchQueue } from 'holdfast/testing'
 *
 * const queue = await scratchQueue()
 * await queue.holdfast.enqueue(sendEmail, { to: 'ada@example.com' }, { delay: '1d' })
 * await queue.assertEnqueued(sendEmail, { to: 'ada@example.com' }, { delay: '1d' })
 * await queue.clock.advance('1d')
 * const { completed } = await queue.drain([sendEmail])
 * await queue.close()
 */
export async function scratchQueue(options: ScratchQueueOptions = {}): Promise<ScratchQueue> {
  refuseUnknown(options, ['connectionString', 'schema'])
  const server = await findTestServer(options.connectionString)
  const scratch = await (options.schema ? inASchema(server.url) : inADatabase(server.url)).catch((error) => {
    server.release()
    throw error
  })
  const { connectionString, schema } = scratch
  const holdfast = new Holdfast({ connectionString, schema })
  const { store } = insideOf(holdfast)
  let closed: Promise<void> | undefined

  async function closeOnce(): Promise<void> {
    try {
      await holdfast.close()
      await scratch.drop()
    } finally {
      server.release()
    }
  }

  function close(): Promise<void> {
    closed ??= closeOnce()
    return closed
  }

  return {
    holdfast,
    connectionString,
    schema,
    clock: new TestClock(store),
    drain: (types, drainOptions = {}) => drain(holdfast, types, drainOptions),
    async runJob(type, payload, runOptions = {}) {
      const before = new Set((await readEnqueued(holdfast)).map((job) => job.id))
      const run = await runJobWith(type, payload, runOptions, (work) => store.completion.transact(work))
      return { ...run, enqueued: (await readEnqueued(holdfast)).filter((job) => !before.has(job.id)) }
    },
    enqueued: (type?: AnyJobType | string) => readEnqueued(holdfast, type),
    async assertEnqueued(type, payload, expectation = {}) {
      checkExpectation(expectation, { count: true })
      const all = await readEnqueued(holdfast, undefined, expectation.tx)
      return expectEnqueued(all, nameOf(type), payload, expectation) as EnqueuedJob<PayloadOf<typeof type>>[]
    },
    async assertNotEnqueued(type, payload, expectation = {}) {
      checkExpectation(expectation, { count: false })
      expectNotEnqueued(await readEnqueued(holdfast, undefined, expectation.tx), nameOf(type), payload, expectation)
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function inADatabase(url: string) {
  return { ...(await makeScratchDatabase(url)), schema: defaultSchema }
}

async function inASchema(connectionString: string) {
  return { ...(await makeScratchSchema(connectionString)), connectionString }
}
