/** What a rule found, as it stands in the payload of a call. */
export interface Trouble {
  state: 'firing' | 'resolved' | 'test'
  rule: string
  kind: string
  subject: string
  value: number
  threshold: number
  since: string
  at: string
}

/** What is sent: the shape of Standard Webhooks, with a sentence for people. */
export function messageOf(trouble: Trouble) {
  const { state, rule, kind, subject, value, threshold, since, at } = trouble
  return {
    type: `alert.${state}`,
    timestamp: new Date(at).toISOString(),
    data: { rule, kind, subject, value, threshold, since: new Date(since).toISOString(), summary: sentence(trouble) },
  }
}

function sentence({ state, rule, kind, subject, value }: Trouble): string {
  if (state === 'test') return 'This is a test; nothing is wrong.'
  if (state === 'resolved') return `It is over: ${rule}${subject && ` of ${subject}`}.`
  switch (kind) {
    case 'dead_letters':
      return `${value === 1 ? 'A job' : `${value} jobs`} of ${subject} ended dead.`
    case 'breaker':
      return `The breaker of ${subject} is open: most of its attempts failed.`
    case 'depth':
      return `${value} jobs${subject && ` of ${subject}`} wait.`
    case 'oldest':
      return `A job of ${subject} has waited for ${Math.round(value)} s.`
    case 'missing_days':
      return `${subject} has no partition for today or tomorrow: workers cannot make it, and their log says why.`
    case 'notify_queue':
      return `The queue of NOTIFY is ${Math.round(value * 100)} % full: a session that listens sits in a transaction. From 50 % on workers find jobs by polling alone.`
    case 'drift':
      return `${value === 1 ? 'A slot or key' : `${value} slots or keys`} disagreed with the jobs they stand for, and were repaired. It is a defect: please report it with the log lines drift.repaired.`
    default:
      return `${value} requests to enqueue were refused.`
  }
}
