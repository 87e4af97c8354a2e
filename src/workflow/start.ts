import { sleep } from '../clock.js'
import type { Backpressure } from '../enqueue/backpressure.js'
import { reserved } from '../enqueue/encrypt.js'
import { trace } from '../enqueue/prepare.js'
import { HoldfastError } from '../errors.js'
import type { RecordedActor } from '../job/actor.js'
import { refuseUnfit } from '../job/check-payload.js'
import { isJobId, newJobId } from '../job/id.js'
import { encodePayload } from '../job/payload.js'
import { refused, refuseUnknown, wholeNumber } from '../job/refused.js'
import { readTags } from '../job/tags.js'
import { storableText } from '../job/text.js'
import { isEncrypted } from '../privacy/keyring.js'
import type { Privacy } from '../privacy/privacy.js'
import { explained, isWorthAnotherTry, told } from '../store/sqlstate.js'
import type { NewJob, Store } from '../store/store.js'
import { asQueryable, type CallerTransaction } from '../store/transaction.js'
import { telemetry } from '../tracing/telemetry.js'
import { inputName } from './check-graph.js'
import { rootsOf } from './condition.js'
import type { Graph } from './graph.js'
import type { WorkflowRegistry } from './register.js'
import type { AnyWorkflow } from './typed.js'

/** What an execution is started with beside its input. */
export interface StartOptions {
  /**
   * The caller's own transaction: the execution exists if and only if it commits.
   * @default none: it is stored at once
   */
  tx?: CallerTransaction
  /**
   * A UUIDv7 of your own. A second start with it answers with the first execution.
   * @default a new UUIDv7
   */
  id?: string
  /**
   * The priority of its jobs, 0 (low) to 9 (high), where a task does not say.
   * @range 0 to 9
   * @default that of each type
   */
  priority?: number
  /**
   * Whose execution it is (a tenant, an account): limits per key, fairness and pauses of its jobs go by it.
   * @range 1 to 500 characters
   * @default none
   */
  concurrencyKey?: string
  /**
   * Words to find its jobs by, where a task has none of its own.
   * @default []
   */
  tags?: readonly string[]
  /**
   * The service it belongs to: the server says it, by the key that a request came with.
   * @internal
   */
  owner?: string
  /**
   * Of a workflow that is named: which version of it.
   * @range 1 to 2,147,483,647
   * @default the latest that is registered
   */
  version?: number
  /**
   * The W3C traceparent of the span that asks for it.
   * @default that of the active span
   */
  traceparent?: string
}

declare const outputOf: unique symbol

/** An execution that was started, and, for `executions.wait`, what it results in. */
export interface Started<Output = unknown> {
  id: string
  /** `existing`: an execution with this id was there already; nothing was added. */
  status: 'created' | 'existing'
  readonly [outputOf]?: Output
}

/** What a start works with. */
export interface Starter {
  store: Store
  registry: WorkflowRegistry
  backpressure: Backpressure
  privacy: Privacy
}

/** A graph to start by, its own or that of an earlier execution. */
export interface Startable {
  name: string
  hash: string
  graph: Graph
  rerunOf?: string
  from?: string
  by?: RecordedActor
}

const known = ['tx', 'id', 'priority', 'concurrencyKey', 'tags', 'owner', 'version', 'traceparent']
const tries = 4

export async function start(
  starter: Starter,
  workflow: AnyWorkflow | string,
  input: unknown,
  options: StartOptions,
): Promise<Started> {
  refuseUnknown(options, known)
  if (options.priority !== undefined) wholeNumber(options.priority, 'priority', 0, 9)
  if (options.version !== undefined) wholeNumber(options.version, 'version', 1, 2_147_483_647)
  const text = encodePayload(input, 'input')
  if (typeof workflow === 'string') return startNamed(starter, workflow, { input, text }, options)
  if (options.version !== undefined) throw refused('version', 'is for a workflow that is named; a definition is a version')
  await refuseUnfit(workflow.schema, input, 'input', workflow.name)
  const tx = options.tx && asQueryable(options.tx)
  await starter.registry.ensure(workflow, tx)
  return startGraph(starter, workflow, text, options)
}

/** Starts what is registered under a name. Its input is checked where this process has the definition, and otherwise by the workers. */
async function startNamed(
  starter: Starter,
  name: string,
  { input, text }: { input: unknown; text: string },
  options: StartOptions,
): Promise<Started> {
  const { version } = options
  const asked = version ?? null
  const found = await told(starter.store.executions.startable(storableText(name, 'workflow'), asked))
  if (!found) throw notRegistered(name, asked)
  const definition = starter.registry.definitionOf(name, found.hash)
  if (definition) await refuseUnfit(definition.schema, input, 'input', name)
  return startGraph(starter, { name, hash: found.hash, graph: found.graph as Graph }, text, options)
}

export function notRegistered(name: string, version: number | null = null): HoldfastError {
  const which = version === null ? JSON.stringify(name) : `${JSON.stringify(name)} of version ${version}`
  const right = 'give its definition to a worker, startWorker(holdfast, [workflow]) or a file that exports it'
  const problem = `no workflow ${which} is registered; ${right}, or call holdfast.executions.register(workflow)`
  return new HoldfastError('unknown_workflow', problem, { field: 'workflow' })
}

/** Stores the execution and whatever of it can start, in one statement. */
export async function startGraph(
  { store, backpressure, privacy }: Starter,
  startable: Startable,
  input: string,
  options: StartOptions,
): Promise<Started> {
  if (isEncrypted(input)) throw reserved()
  const { id: brought, priority, concurrencyKey, tags, owner } = options
  if (brought !== undefined && !isJobId(brought)) throw refused('id', `is ${JSON.stringify(brought)}; it must be a UUIDv7`)
  if (concurrencyKey !== undefined && (typeof concurrencyKey !== 'string' || !/^.{1,500}$/s.test(concurrencyKey))) {
    throw refused('concurrencyKey', 'must be a text of 1 to 500 characters')
  }
  const id = brought?.toLowerCase() ?? newJobId()
  const tx = options.tx && asQueryable(options.tx)
  const { name: workflow, hash, graph, rerunOf = null, from = null, by } = startable
  const own = await encryptedParts({ store, privacy }, startable, id, input, tx)
  const fields = {
    ...(priority === undefined ? {} : { priority: wholeNumber(priority, 'priority', 0, 9) }),
    ...(concurrencyKey === undefined ? {} : { concurrency_key: concurrencyKey }),
    ...(tags === undefined ? {} : { tags: readTags(tags) ?? undefined }),
    ...(owner === undefined ? {} : { owner }),
    ...(tx ? { wake_always: true } : {}),
    ...by,
  }
  const span = { id, type: workflow, traceparent: trace(options.traceparent) }
  const storeIt = async (): Promise<boolean> => {
    const traced = span.traceparent === null ? fields : { ...fields, traceparent: span.traceparent }
    const asked = { id, workflow, hash, input: own.input, options: traced, own: own.tasks, rerunOf, from }
    const admitted = await backpressure.admit(firstJobs(graph, priority), tx)
    for (let attempt = 1; ; attempt++) {
      try {
        const created = await store.executions.start(asked, tx)
        admitted(true)
        return created || (attempt > 1 && brought === undefined)
      } catch (error) {
        // The id was made here, so whatever an answer that got lost has stored is found again.
        if (!tx && isWorthAnotherTry(error) && attempt < tries) await sleep(50 * 3 ** (attempt - 1))
        else {
          admitted(false)
          throw explained(error)
        }
      }
    }
  }
  const created = await (telemetry()?.enqueue([span], storeIt) ?? storeIt())
  return { id, status: created ? 'created' : 'existing' }
}

/** The jobs that start at once, as far as backpressure looks at them. */
function firstJobs(graph: Graph, priority: number | undefined): NewJob[] {
  const first = graph.tasks.filter(({ after, type }) => after.length === 0 && type !== undefined)
  return first.map((task) => ({ type: task.type, priority: task.options.priority ?? priority ?? null }) as NewJob)
}

/**
 * Where a type of the workflow is encrypted, so is the input, and each task is given its payload now: later the database makes the job, and it has no
 * keys.
 */
async function encryptedParts(
  { store, privacy }: Pick<Starter, 'store' | 'privacy'>,
  { name, graph }: Startable,
  id: string,
  input: string,
  tx: ReturnType<typeof asQueryable> | undefined,
): Promise<{ input: string; tasks: Record<string, { id: string; payload: string }> | null }> {
  // Without keys nothing can be encrypted; a type that has to be is refused by the database.
  if (!privacy.keyring) return { input, tasks: null }
  const rows = await store.types([...new Set(graph.tasks.flatMap(({ type }) => type ?? []))], tx).catch((error) => {
    throw explained(error)
  })
  const encrypted = new Set(rows.filter((row) => privacy.encrypts(row.encrypted)).map((row) => row.name))
  if (encrypted.size === 0) return { input, tasks: null }
  const hidden = new Set([inputName, ...graph.tasks.filter(({ type = '' }) => encrypted.has(type)).map((task) => task.name)])
  const blind = graph.tasks.find(
    ({ workflow, if: condition = '', each = '', type = '' }) =>
      workflow !== undefined ||
      (each !== '' && encrypted.has(type)) ||
      rootsOf(`${condition} ${each}`).some((root) => hidden.has(root)),
  )
  if (blind) {
    const problem = `needs the database to read or make what is stored encrypted (${[...encrypted].join(', ')}), and it has no keys`
    throw refused(['tasks', blind.name], problem)
  }
  const tasks = graph.tasks.flatMap(({ name: task, type, payload = input }) => {
    if (type === undefined) return []
    const job = newJobId()
    return [[task, { id: job, payload: encrypted.has(type) ? privacy.encrypt(type, job, payload) : payload }] as const]
  })
  return { input: privacy.encrypt(name, id, input), tasks: Object.fromEntries(tasks) }
}
