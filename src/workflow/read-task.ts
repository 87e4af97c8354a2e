import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Checker } from '../job/checker.js'
import { toMilliseconds } from '../job/duration.js'
import { encodePayload } from '../job/payload.js'
import { notA, refused, wholeNumber } from '../job/refused.js'
import { readTags } from '../job/tags.js'
import { type AnyJobType, defineType, isJobType } from '../job/type.js'
import { workflowMark } from '../job/workflow-mark.js'
import { inputName } from './check-graph.js'
import type { GraphTask, GraphTaskJob, When } from './graph.js'
import type { AnyWorkflow } from './typed.js'

/** What `task(name, …)` is given, as anybody may have written it. */
export type TaskDefinition = Record<string, unknown>

/** A task that was read: as the database keeps it, and what it runs. */
export interface ReadTask {
  graph: GraphTask
  type: AnyJobType | undefined
  /** Its handler stands in the workflow. */
  isOwn: boolean
  subWorkflow: AnyWorkflow | undefined
}

const common = ['after', 'when', 'if', 'each']
const ofJobs = ['delay', 'concurrencyKey', 'tags', 'priority', 'maxAttempts']
const whens: readonly When[] = ['succeeded', 'failed', 'always']

interface Around {
  workflow: string
  input: StandardSchemaV1 | undefined
}

/** Reads one task to its end; what is wrong with it is in `check`, under its name. */
export function readTask(check: Checker, around: Around, name: string, options: TaskDefinition): ReadTask {
  const at = (field: string): string[] => ['tasks', name, field]
  const read = <Value>(field: string, reading: (value: unknown) => Value, otherwise: Value): Value =>
    options[field] === undefined
      ? otherwise
      : check.read(() => {
          try {
            return reading(options[field])
          } catch (error) {
            throw under(error, at(field))
          }
        }, otherwise)
  if (typeof name !== 'string' || !/^[A-Za-z_]\w{0,62}$/.test(name) || name === inputName) {
    check.wrong(
      ['tasks', String(name)],
      `is no name for a task: 1 to 63 letters, digits or _, not first a digit, and not "${inputName}"`,
    )
  }
  const [kind] = ['run', 'type', 'workflow'].filter((field) => options[field] !== undefined)
  if (['run', 'type', 'workflow'].filter((field) => options[field] !== undefined).length !== 1) {
    check.wrong(['tasks', name], 'needs one of run, type and workflow')
  }
  const each = read('each', text, undefined)
  const runs = kind === 'run' ? ownType(check, around, name, options, each !== undefined) : undefined
  if (kind === 'type') check.known(options, ['type', 'payload', ...common, ...ofJobs], ['tasks', name])
  if (kind === 'workflow') check.known(options, ['workflow', 'payload', ...common], ['tasks', name])
  const type = kind === 'type' ? read('type', typeOrName, undefined) : runs
  const subWorkflow = kind === 'workflow' ? read('workflow', workflowIn, undefined) : undefined
  const after = read('after', parents, [])
  const when = read('when', oneOfWhens, 'succeeded')
  const payload = read('payload', (value) => encodePayload(value), undefined)
  if (payload !== undefined && each !== undefined)
    check.wrong(at('payload'), 'and each exclude each other: the payload is the item')
  if (each !== undefined && typeof type === 'object' && type.encrypt) {
    check.wrong(at('each'), `makes jobs of ${type.type} in the database, which has no keys to encrypt their payloads with`)
  }
  const graph: GraphTask = {
    name,
    ...(type === undefined ? {} : { type: typeof type === 'string' ? type : type.type }),
    ...(subWorkflow === undefined ? {} : { workflow: { name: subWorkflow.name, hash: subWorkflow.hash } }),
    after,
    when,
    ...optional('if', read('if', text, undefined)),
    ...optional('each', each),
    ...optional('payload', payload),
    options: {
      ...(kind === 'type'
        ? optional(
            'priority',
            read('priority', (n) => wholeNumber(n, 'priority', 0, 9), undefined),
          )
        : {}),
      ...(kind === 'type'
        ? optional(
            'maxAttempts',
            read('maxAttempts', (n) => wholeNumber(n, 'maxAttempts', 1, 20), undefined),
          )
        : {}),
      ...optional(
        'delayMs',
        read('delay', (value) => toMilliseconds(value, 'delay'), undefined),
      ),
      ...optional('concurrencyKey', read('concurrencyKey', key, undefined)),
      ...optional(
        'tags',
        read('tags', (value) => readTags(value) ?? undefined, undefined),
      ),
    } satisfies GraphTaskJob,
  }
  return { graph, type: typeof type === 'object' ? type : undefined, isOwn: kind === 'run', subWorkflow }
}

/** The type of a task whose handler stands in the workflow. An item has no schema: only the database sees it before its handler does. */
function ownType(check: Checker, around: Around, name: string, options: TaskDefinition, each: boolean): AnyJobType | undefined {
  const own = Object.fromEntries(
    Object.entries(options).filter(([field]) => ![...common, 'payload', 'delay', 'concurrencyKey', 'tags'].includes(field)),
  )
  const schema = each || options.payload !== undefined || around.input === undefined ? {} : { payload: around.input }
  for (const field of ['type', 'aliases', 'unique', 'sharedKeys']) delete own[field]
  return check.read(
    () => {
      try {
        return defineType({ ...own, ...schema, type: `${around.workflow}.${name}` } as never)
      } catch (error) {
        throw under(error, ['tasks', name])
      }
    },
    undefined as AnyJobType | undefined,
  )
}

/** The same problems, said of a field inside of a task. */
function under(error: unknown, path: readonly string[]): unknown {
  const issues = (error as { issues?: readonly { path: readonly (string | number)[]; problem: string }[] }).issues ?? []
  const [first] = issues
  if (!first) return error
  const last = path.at(-1)
  return issues.length === 1
    ? refused([...path, ...(first.path[0] === last ? first.path.slice(1) : first.path)], first.problem)
    : Object.assign(error as Error, { issues: issues.map((issue) => ({ ...issue, path: [...path, ...issue.path] })) })
}

function optional<Name extends string, Value>(name: Name, value: Value | undefined): { [Key in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { [Key in Name]?: Value })
}

function text(value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '' && value.length <= 1_000) return value
  throw notA([], value, 'a jsonpath of at most 1,000 characters, such as "$.input.total > 100"')
}

function key(value: unknown): string {
  if (typeof value === 'string' && value.length >= 1 && value.length <= 500) return value
  throw notA([], value, 'a text of 1 to 500 characters')
}

function parents(value: unknown): string[] {
  if (!Array.isArray(value)) throw notA([], value, 'a list of tasks')
  const names = value.map((parent) => (typeof parent === 'string' ? parent : (parent as { name?: unknown } | null)?.name))
  const wrong = names.findIndex((name) => typeof name !== 'string')
  if (wrong >= 0) throw refused([wrong], 'is no task; give what task(…) answered, or a name')
  return [...new Set(names as string[])]
}

function oneOfWhens(value: unknown): When {
  if (whens.includes(value as When)) return value as When
  throw notA([], value, 'succeeded, failed or always')
}

function typeOrName(value: unknown): AnyJobType | string {
  if (isJobType(value) || (typeof value === 'string' && value !== '')) return value as AnyJobType | string
  throw notA([], value, 'what defineType answered, or the name of a registered type')
}

function workflowIn(value: unknown): AnyWorkflow {
  const workflow = value as AnyWorkflow | null
  if (typeof workflow !== 'object' || workflow === null || !(workflowMark in workflow)) {
    throw notA([], value, 'what defineWorkflow answered')
  }
  if (hasSecrets(workflow)) {
    throw refused([], `is ${workflow.name}, which has encrypted types: the database starts it and has no keys`)
  }
  return workflow
}

function hasSecrets(workflow: AnyWorkflow): boolean {
  return workflow.usedTypes.some((type) => type.encrypt)
}
