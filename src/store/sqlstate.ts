import { HoldfastError, UniqueConflictError } from '../errors.js'
import type { Path } from '../issue.js'
import { didYouMean } from '../job/nearest.js'

interface DatabaseError {
  code?: string
  message?: string
  detail?: string
  hint?: string
  constraint?: string
}

/** What Drizzle, Prisma and postgres.js make of it. */
interface WrappedError extends DatabaseError {
  cause?: DatabaseError
  meta?: { driverAdapterError?: { cause?: DatabaseError & { originalCode?: string } } }
  constraint_name?: string
}

/** What the server or the socket said, wherever the library in between has put it. */
function said(error: unknown): DatabaseError {
  const outer = (error ?? {}) as WrappedError
  const underPrisma = outer.meta?.driverAdapterError?.cause
  if (underPrisma) return { ...underPrisma, code: underPrisma.originalCode ?? underPrisma.code ?? '' }
  const inner = outer.code === undefined && outer.cause?.code !== undefined ? (outer.cause as WrappedError) : outer
  const { code, message = '', detail, hint, constraint = inner.constraint_name } = inner
  // Knex puts the statement in front, which ends in the comment that transaction.ts gave it.
  return { code, message: message.replace(/^[\s\S]*\n--(?: \$\d+)* - /, ''), detail, hint, constraint } as DatabaseError
}

const networkCodes = new Set([
  'ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN',
  'EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA', 'ETIMEOUT', 'ESERVFAIL', 'ENOENT', 'EMFILE', 'ENFILE',
]) // biome-ignore format: one list
const networkTexts = [
  'Connection terminated', 'Query read timeout', 'timeout exceeded when trying to connect', 'timeout expired',
  'Client was closed', 'Cannot use a pool after', 'Client has encountered a connection error',
] // biome-ignore format: one list

/** Of a caller's pool, which does not tell a server that is away from connections that are all in use. */
const poolTexts = ['timeout exceeded when trying to connect', 'Cannot use a pool after']

/** The server is away, going away, coming up, full, or read-only after a failover: another connection may fare better. */
export function isConnectionTrouble(error: unknown): boolean {
  const { code = '', message = '' } = said(error)
  if (networkCodes.has(code) || networkTexts.some((text) => message.includes(text))) return true
  if (code === 'database_unavailable') return true
  return code.startsWith('08') || /^57P0[1-5]$/.test(code) || code === '53300' || code === '25006' || code === '57014'
}

/**
 * The database cannot be reached, or only by readers, as in a failover, and may come back. A pool whose connections are all in use is not
 * away, and neither is a server that ended a statement which took too long.
 */
export function isAway(error: unknown): boolean {
  const { code = '', message = '' } = said(error)
  if (['database_unavailable', '57014'].includes(code) || poolTexts.some((text) => message.includes(text))) return false
  return isConnectionTrouble(error)
}

/**
 * The statement was understood and can never succeed with these values. Everything else may pass when it is run again, also
 * what is not known here: a result that is thrown away for a trouble nobody has seen before is a job that runs twice.
 */
export function isRefusal(error: unknown): boolean {
  const { code = '' } = said(error)
  return /^(21|22|23|P0|HF)...$/.test(code) && !isPartitionChange(error)
}

/** A limit of the server was reached: by these values, or by what others did, as where the queue of NOTIFY is full. */
export function isLimit(error: unknown): boolean {
  return (said(error).code ?? '').startsWith('54')
}

/**
 * The same transaction may succeed if it is run again at once: trouble with the connection, a deadlock, or a row on its way
 * into the default partition just when the partition of its day was put in place.
 */
export function isWorthAnotherTry(error: unknown): boolean {
  const { code = '' } = said(error)
  return isConnectionTrouble(error) || /^(40|53|55)/.test(code) || isPartitionChange(error)
}

/** Somebody else holds a lock: it was not to be had in time, or waiting for it was a deadlock. */
export function isLockTrouble(error: unknown): boolean {
  return ['55P03', '40P01'].includes(said(error).code ?? '')
}

/** A row of the same key stands already. */
export function isDuplicate(error: unknown): boolean {
  return said(error).code === '23505'
}

/** A check violation that names no constraint is that of a partition. */
function isPartitionChange(error: unknown): boolean {
  const { code, constraint } = said(error)
  return code === '23514' && constraint === undefined
}

const rightsNeeded =
  'Migrating needs the right to create in the database and to own the schema holdfast; other programs need a role such as ' +
  'holdfast_producer or holdfast_worker, which holdfast migrate --roles makes'

const poolerInBetween =
  'A pooler in transaction mode is between here and the server, and does not keep prepared statements apart ' +
  '(PgBouncer before 1.21): give new Holdfast({ preparedStatements: false })'

/** The constraints of our tables are called by the sentences that they hold to: soft_is_below_hard. */
const wordsOf = (constraint: string) => constraint.split('_').join(' ')

/** What the store answers, or the error its caller is to see. */
export async function told<Result>(answer: Promise<Result>): Promise<Result> {
  try {
    return await answer
  } catch (error) {
    throw explained(error)
  }
}

/** `detail`: which name was asked for and which there are, as JSON. */
function unknown(
  code: 'unknown_type' | 'unknown_lane' | 'unknown_dependency',
  field: string,
  message: string,
  detail: string | undefined,
  cause: unknown,
): HoldfastError {
  const { asked, known } = JSON.parse(detail ?? '{"asked":"","known":[]}') as { asked: string; known: string[] }
  const problem = `${message}${didYouMean(asked, known)}`
  return new HoldfastError(code, problem, { issues: [{ path: [field], problem, value: asked }], cause })
}

/**
 * The error a caller of Holdfast sees in place of the driver's. What is not ours to explain passes unchanged. `ids`: those of
 * an enqueue, whose jobs can exclude each other.
 */
export function explained(error: unknown, ids: readonly string[] = []): unknown {
  if (error instanceof HoldfastError || error === null || typeof error !== 'object') return error
  const { code, message = '', detail, hint, constraint } = said(error)
  const text = hint ? `${message}. ${hint}` : message
  switch (code) {
    case 'HF001':
      return unknown('unknown_type', 'type', message, detail, error)
    case 'HF005':
      return unknown('unknown_lane', 'lane', message, detail, error)
    case 'HF002':
      return new HoldfastError('invalid_option', text, { cause: error })
    case 'HF003':
      return new HoldfastError('payload_too_large', text, { field: 'payload', cause: error })
    case 'HF004':
      return new HoldfastError('invalid_payload', text, { field: 'payload', cause: error })
    case 'HF006':
    case 'HF007':
      return new HoldfastError('conflict', text, { cause: error })
    case 'HF008':
      return notConfirmed(JSON.parse(detail ?? '[]'), error)
    case 'HF009':
      return new HoldfastError('encryption_keys_missing', text, { field: 'encryption', cause: error })
    case 'HF010':
    case 'HF011':
      return new HoldfastError(code === 'HF010' ? 'conflict' : 'forbidden', text, { field: detail ?? '', cause: error })
    case 'HF012':
      return new HoldfastError('unknown_workflow', text, { field: 'workflow', cause: error })
    case 'HF013':
      return unknown('unknown_dependency', 'dependency', message, detail, error)
    case 'HF014':
      return unfit(text, JSON.parse(detail ?? '{}'), ids, error)
    case 'HF404':
      return new HoldfastError('not_found', text, { field: detail ?? 'name', cause: error })
    case 'HF409':
      return uniqueConflict(detail ?? '', ids, error)
    case 'HF429':
      return new HoldfastError('too_much_waiting', text, { retryAfterMs: Number(detail), cause: error })
    case 'HF410':
      return new HoldfastError('id_conflict', text, { field: 'id', cause: error })
    case '42P01': // undefined table
    case '3F000': // undefined schema
    case '42883': // undefined function
      return new HoldfastError(
        'schema_outdated',
        `${message}. Run: holdfast migrate; where the schema is newer than this version, deploy the newer version`,
        { cause: error },
      )
    case '42P05': // duplicate prepared statement
    case '26000': // unknown prepared statement
      return new HoldfastError('invalid_configuration', `${message}. ${poolerInBetween}`, {
        field: 'preparedStatements',
        cause: error,
      })
    case '2200H': // sequence generator limit exceeded
      return new HoldfastError('ids_exhausted', `${message}; existing ones keep working, but no new one can be created`, {
        cause: error,
      })
    case '42501': // insufficient privilege
      return new HoldfastError('permission_denied', `${text}. ${rightsNeeded}`, { cause: error })
    case '23514':
      if (constraint === undefined) break
      return new HoldfastError('invalid_option', `a value breaks the rule "${wordsOf(constraint)}" of the database`, {
        cause: error,
      })
  }
  if (isConnectionTrouble(error)) {
    return new HoldfastError('database_unavailable', `the database did not answer: ${reasonOf(error)}`, { cause: error })
  }
  if (isPartitionChange(error)) {
    return new HoldfastError('database_unavailable', `the partition for this job was being created; try again: ${message}`, {
      cause: error,
    })
  }
  return error
}

/** The server ended it because it took too long. */
export function wasTooSlow(error: unknown): boolean {
  return said(error).code === '57014'
}

export function tooSlow(ms: number, cause: unknown): HoldfastError {
  const narrower = 'ask for less: one type or status, a shorter time (created_after, created_before), a smaller limit'
  return new HoldfastError('question_too_slow', `the database did not answer within ${ms} ms; ${narrower}`, { cause })
}

/** Names the job that has the key or, where that was never stored because it is of the same enqueue, the indexes of both. */
function uniqueConflict(detail: string, ids: readonly string[], cause: unknown): UniqueConflictError {
  const [standing = '', refused = ''] = detail.split(' ')
  const [first, second] = [ids.indexOf(standing), ids.indexOf(refused)]
  if (first >= 0) return new UniqueConflictError(undefined, `jobs[${first}] and jobs[${second}] have the same unique key`, cause)
  const which = ids.length > 1 ? `jobs[${second}]: ` : ''
  return new UniqueConflictError(standing, `${which}job ${standing} already has this unique key`, cause)
}

/** A payload that does not fit the stored schema of its type. Of many jobs, the one that is wrong is named. */
function unfit(
  message: string,
  { id, path, problem }: { id: string; path: Path; problem: string },
  ids: readonly string[],
  cause: unknown,
): HoldfastError {
  const error = new HoldfastError('payload_rejected', message, { issues: [{ path, problem }], cause })
  if (ids.length > 1 && ids.includes(id)) error.index = ids.indexOf(id)
  return error
}

/** What has to be sent to mean it. */
export function notConfirmed(types: readonly string[], cause?: unknown): HoldfastError {
  const shown = types.map((type) => `"${type}"`).join(', ')
  const confirm = types.length === 1 ? shown : `[${shown}]`
  return new HoldfastError(
    'confirmation_required',
    `jobs of ${shown} are sensitive; to replay or resume them send confirm: ${confirm}`,
    {
      field: 'confirm',
      ...(cause === undefined ? {} : { cause }),
    },
  )
}

/** A host with several addresses that all refuse gives one error without a message, which holds the others. */
function reasonOf(error: DatabaseError & { errors?: unknown }): string {
  const messages = Array.isArray(error.errors) ? error.errors.map((one: DatabaseError) => one?.message) : []
  return error.message || messages.join('; ') || error.code || 'no reason was given'
}
