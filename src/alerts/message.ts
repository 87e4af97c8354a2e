/** The payload of a webhook job: what a rule found. */
export interface Trouble {
  state: 'firing' | 'resolved' | 'test'
  rule: string
  kind: string
  subject: string
  value: number
  threshold: number
  since: string
  at: string
  /** False: the alert is over because the rule was disabled. */
  enabled?: boolean
  /** When a dead_letters alert is over: how many dead letters there still are, counted to 1,001. */
  left?: number | null
}

/** The body of a webhook: the shape of Standard Webhooks, with a sentence for people. */
export function messageOf(trouble: Trouble) {
  const { state, rule, kind, subject, value, threshold, since, at } = trouble
  return {
    type: `alert.${state}`,
    timestamp: new Date(at).toISOString(),
    data: { rule, kind, subject, value, threshold, since: new Date(since).toISOString(), summary: sentence(trouble) },
  }
}

function sentence(trouble: Trouble): string {
  const { state, kind, subject, value } = trouble
  if (state === 'test') return 'This is a test; nothing is wrong.'
  if (state === 'resolved') return `${ending(trouble)}${leftBehind(trouble)}`
  switch (kind) {
    case 'dead_letters':
      return `${value === 1 ? 'A job' : `${value} jobs`} of ${subject} ended dead.`
    case 'breaker':
      return `The breaker of ${subject} is open: most of its attempts failed.`
    case 'depth':
      return `${value} jobs${subject && ` of ${subject}`} wait.`
    case 'oldest':
      return `A job of ${subject} has waited for ${Math.round(value)} s.`
    case 'missing_partitions':
      return `${subject} has no partition for today or tomorrow: workers cannot create it, and their log says why.`
    case 'notify_queue':
      return `The NOTIFY queue of PostgreSQL is ${Math.round(value * 100)} % full: a session that listens stays in a transaction. From 50 % on workers find jobs only by polling.`
    case 'drift':
      return `${value === 1 ? 'A slot or key' : `${value} slots or keys`} disagreed with the jobs and were repaired. It is a defect: please report it with the log lines drift.repaired.`
    default:
      return `${value} requests to enqueue were refused.`
  }
}

/** A disabled rule finds nothing, so the sentence says that it was disabled and not that the trouble is over. */
function ending({ rule, kind, subject, threshold, enabled }: Trouble): string {
  if (enabled === false) return `The rule ${rule} was disabled${subject && `, so it no longer watches ${subject}`}.`
  if (kind !== 'dead_letters') return `It is over: ${rule}${subject && ` of ${subject}`}.`
  return threshold === 0 ? `No more jobs of ${subject} end dead.` : `Jobs of ${subject} end dead no faster than the rule allows.`
}

function leftBehind({ kind, left }: Trouble): string {
  if (kind !== 'dead_letters' || left === undefined || left === null) return ''
  if (left === 0) return ' None of its dead letters are left.'
  const many = left > 1000 ? 'More than 1000 dead letters' : left === 1 ? 'One dead letter' : `${left} dead letters`
  return ` ${many} of it ${left === 1 ? 'waits' : 'wait'} until somebody replays or discards ${left === 1 ? 'it' : 'them'}.`
}
