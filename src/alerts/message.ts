/** The payload of a webhook job: what a rule found. */
export interface Trouble {
  state: 'firing' | 'resolved' | 'test'
  rule: string
  kind: string
  severity: 'info' | 'warning' | 'critical'
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
  const { state, rule, kind, severity, subject, value, threshold, since, at } = trouble
  return {
    type: `alert.${state}`,
    timestamp: new Date(at).toISOString(),
    data: { rule, kind, severity, subject, value, threshold, since: new Date(since).toISOString(), summary: sentence(trouble) },
  }
}

/** What there is to say about it, in one sentence or two. */
export function sentence(trouble: Trouble): string {
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
    case 'depth_growth':
      return `${Math.round(value)} jobs${subject && ` of ${subject}`} more wait each minute.`
    case 'oldest':
      return `A job of ${subject} has waited for ${Math.round(value)} s.`
    case 'slow_starts':
      return `One of a hundred jobs begins more than ${Math.round(value)} s after it is due.`
    case 'slow_runs':
      return `Attempts of ${subject} take ${value.toFixed(1)} times as long as in the hours before.`
    case 'enqueue_error_rate':
      return `${(value * 100).toFixed(1)} % of the requests to enqueue were refused in the last five minutes.`
    case 'enqueue_spike':
      return `${Math.round(value)} jobs of ${subject} are enqueued each minute, more than three times as many as usual.`
    case 'late_results':
      return `${value === 1 ? 'An attempt' : `${value} attempts`} of ${subject} ran without a lease and may have run beside the next one; what they reported was refused.`
    case 'rescues':
      return `${value} leases of ${subject} ran out in ten minutes: workers go silent while they run it.`
    case 'restarts':
      return `${value} workers died and were started again within ten minutes.`
    case 'retention':
      return `Retention was last done ${Math.round(value / 3_600)} hours ago: what is over is still stored.`
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
