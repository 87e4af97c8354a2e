import { formatDuration } from '../job/duration.js'
import type { JobStatus } from '../job/state.js'
import type { ExplainFacts } from '../store/explain-rows.js'
import { atRate, because, dependencyGates, type Gate, pause, positive, saidBy, timed, typeGates } from './explain-gates.js'

/** Why a job is not running now. */
export interface Explanation {
  type: string
  status: JobStatus | 'unknown'
  /** The gates that are shut, in the order a job passes them. The first one is the answer. */
  gates: Gate[]
}

/** Says why a job is not running now, from the facts alone. */
export function explain(facts: ExplainFacts): Explanation {
  if (facts.task) return explainTask(facts, facts.task)
  const gates = [
    ...setAside(facts),
    ...versionGates(facts),
    ...ownGates(facts),
    ...typeGates(facts),
    ...dependencyGates(facts),
    ...keyGates(facts),
    ...laneGates(facts),
  ]
  if (gates.length === 0) gates.push(inLine(facts))
  const [first] = gates
  if (first && facts.start_by && facts.place !== null && facts.status !== 'processing') {
    gates[0] = { ...first, why: `${first.why}; it ends as expired unless it has started by ${facts.start_by}` }
  }
  const goesRound = roundWords(facts)
  if (gates[0] && goesRound !== '') gates[0] = { ...gates[0], why: `${gates[0].why}; ${goesRound}` }
  return { type: facts.type, status: (facts.status as JobStatus | null) ?? 'unknown', gates }
}

/** A job that is put off or handed back spends no attempt, so only this tells that it goes round. */
function roundWords({ rounds }: ExplainFacts): string {
  if (!rounds) return ''
  const { snoozes, hand_backs: handBacks } = rounds
  return [
    ...(snoozes > 0 ? [`its handler has put it off ${snoozes} of at most ${rounds.max_snoozes} times`] : []),
    ...(handBacks > 0 ? [`workers have handed it back ${handBacks} of at most ${rounds.max_hand_backs} times`] : []),
  ].join(' and ')
}

/** Of a task that has no job, or none that is kept. */
function explainTask({ type, status }: ExplainFacts, task: NonNullable<ExplainFacts['task']>): Explanation {
  const which = `it is the task ${task.name} of execution ${task.execution} (${task.workflow})`
  if (status === 'blocked') {
    const why = `${which} and waits for the parents ${task.parents.join(', ')}`
    return { type, status, gates: [{ gate: 'parents', why, opens: 'the end of these tasks', heldBy: task.held_by }] }
  }
  if (status === 'started') {
    const why = `${which} and runs as an execution of ${task.sub}`
    return { type, status: 'processing', gates: [{ gate: 'running', why, opens: 'the end of the tasks of that execution' }] }
  }
  const reason = task.because ? neverStarted[task.because] : task.error
  const why = reason === null ? `${which} and has ended: ${status}` : `${which} and did not start: ${reason}`
  return { type, status: 'unknown', gates: [{ gate: 'ended', why, opens: 'resuming the execution' }] }
}

/** Why a task was skipped. */
const neverStarted = {
  condition: 'its condition was not met',
  failed: 'a task before it failed',
  stopped: 'another task failed, and then nothing else starts',
  cancelled: 'the execution was cancelled',
}

function setAside({ set_aside: aside, place }: ExplainFacts): Gate[] {
  if (!aside || place === null) return []
  const { duty, error, again_in_ms: inMs } = aside
  const opens = `another try, in ${formatDuration(Math.round(inMs))}, once the cause is gone`
  return [{ gate: 'set_aside', why: `the workers could not ${verbs[duty] ?? duty}: ${error}`, opens, opensInMs: inMs }]
}

/** What a duty does to the job, where its name alone would not say it. */
const verbs: Record<string, string> = {
  promote: 'queue it',
  deadlines: 'apply the deadline of its approval',
  followers: 'free the job behind it',
  orphans: 'give back its slot',
  versions: 'queue it, although a worker can read its payload now',
  expire: 'end it, although it had to start by a time that is over',
  admit: 'let jobs of its type through their gate',
}

function versionGates({ status, place, type, version, ...facts }: ExplainFacts): Gate[] {
  const known = facts.known_version ?? facts.type_version
  if (place === null || status === 'processing' || version <= known) return []
  const why = `its payload is of version ${version}, and no worker knows a newer one of ${type} than ${known}`
  return [{ gate: 'version', why, opens: `starting a worker whose ${type} has version ${version}` }]
}

function ownGates(facts: ExplainFacts): Gate[] {
  const { status, due_in_ms: dueInMs } = facts
  if (status === 'processing') {
    const why = `it is running${facts.worker ? ` on ${facts.worker}` : ''} since ${facts.claimed_at ?? 'a moment ago'}`
    return [{ gate: 'running', why, opens: 'nothing needs to' }]
  }
  if (facts.place === null)
    return [{ gate: 'ended', why: `it has ended: ${status}`, opens: 'nothing; it will not run again by itself' }]
  if (facts.place === 'following') {
    const why = `it waits behind job ${facts.follows}, which has the same unique key`
    return [{ gate: 'behind', why, opens: 'the end of that job', heldBy: [facts.follows as string] }]
  }
  if (facts.place !== 'waiting' || facts.version > facts.type_version) return []
  if (status === 'awaiting_approval') return [{ gate: 'approval', why: 'it waits for approval', opens: 'an approval' }]
  if (status === 'blocked')
    return [facts.waits?.some(({ kind }) => kind === 'signal') ? waitsForSignal(facts) : readableNow(facts)]
  const inMs = Math.max(0, Number(dueInMs))
  const opens = `time, in ${formatDuration(Math.round(inMs))}; or run it now`
  return status === 'failed'
    ? [{ gate: 'retry', why: `its last attempt failed; the next one is due at ${facts.due_at}`, opens, opensInMs: inMs }]
    : facts.waits?.some(({ kind }) => kind === 'sleep')
      ? [{ gate: 'sleep', why: `its handler sleeps until ${facts.due_at}`, opens, opensInMs: inMs }]
      : [{ gate: 'scheduled', why: `it is scheduled for ${facts.due_at}`, opens, opensInMs: inMs }]
}

function waitsForSignal({ waits, due_in_ms: dueInMs }: ExplainFacts): Gate {
  const names = (waits ?? []).filter(({ kind }) => kind === 'signal').map(({ name }) => `"${name}"`)
  const why = `its handler waits for the signal ${names.join(' and ')}`
  if (dueInMs === null || dueInMs === undefined) return { gate: 'signal', why, opens: 'that signal' }
  const opensInMs = Math.max(0, Number(dueInMs))
  return { gate: 'signal', why, opens: `that signal; or time, in ${formatDuration(Math.round(opensInMs))}`, opensInMs }
}

/** It was newer than every worker until now. */
function readableNow({ version, type }: ExplainFacts): Gate {
  const why = `its payload is of version ${version}, which no worker knew; one whose ${type} has it has just started`
  return { gate: 'version', why, opens: 'the next tick of that worker, within seconds' }
}

function keyGates(facts: ExplainFacts): Gate[] {
  if (!facts.gated) return []
  const gates: Gate[] = []
  const key = `key ${facts.key} of ${facts.type}`
  if (facts.key_paused_by) {
    const reason = because(facts.key_paused_why)
    const { key_paused_by: by, key_paused_until: until, key_paused_over_in_ms: overInMs } = facts
    gates.push(pause('key_paused', `${key} was paused by ${by}`, reason, key, until, overInMs))
  }
  if (facts.key && facts.key_rate_count && (facts.key_rate_used ?? 0) >= facts.key_rate_count) {
    gates.push(atRate('key_rate', key, facts.key_rate_count, facts.key_rate_per_ms, facts.key_rate_free_in_ms))
  } else if (positive(facts.key_rests_in_ms)) {
    gates.push(timed('key_stopped', `${key} is at its rate or was stopped`, facts.key_rests_in_ms))
  }
  if (facts.key && facts.key_max_running && (facts.key_running ?? 0) >= facts.key_max_running) {
    const why = `${facts.key_running} of at most ${facts.key_max_running} jobs of ${key} are running`
    gates.push({
      gate: 'key_concurrency',
      why,
      opens: 'the end of one of them, or a higher limit',
      heldBy: facts.key_held_by ?? [],
    })
  }
  if (facts.key_halted_by) {
    const why = `${key} has halted since ${facts.key_halted_at}, because job ${facts.key_halted_by} died`
    const opens = `replaying or discarding that job, or resuming ${key}`
    gates.push({ gate: 'key_halted', why, opens, heldBy: [facts.key_halted_by] })
  }
  if (facts.key_holder) gates.push(behindHolder(key, facts.key_holder))
  return gates
}

function behindHolder(key: string, { job, status, due_at: dueAt }: NonNullable<ExplainFacts['key_holder']>): Gate {
  const does: Record<string, string> = {
    processing: 'is running',
    failed: `failed, and is tried again at ${dueAt}`,
    scheduled: `is scheduled for ${dueAt}`,
    awaiting_approval: 'waits for approval',
    blocked: 'is blocked',
  }
  const why = `jobs of ${key} run in the order of their enqueue, and job ${job}, which comes first, ${does[status] ?? 'has not run yet'}`
  return { gate: 'key_order', why, opens: 'the end of that job', heldBy: [job] }
}

function laneGates(facts: ExplainFacts): Gate[] {
  if (facts.place !== 'queue') return []
  if (facts.status === 'processing') return []
  const gates: Gate[] = []
  const { lane } = facts
  if (!facts.lane_enabled) {
    const what = `lane ${lane} was drained${facts.lane_changed_by ? ` by ${facts.lane_changed_by}` : ''}`
    const { until, in_ms: overInMs } = facts.lane_drained ?? {}
    gates.push(pause('lane_drained', what, because(facts.lane_changed_why), `lane ${lane}`, until, overInMs))
  }
  if (facts.lane_slots !== null && facts.lane_in_use >= facts.lane_slots) {
    const said = saidBy(facts.lane_overrides, 'slots')
    const why = `lane ${lane} is full: ${facts.lane_in_use} of ${facts.lane_slots} slots are taken${said}`
    gates.push({ gate: 'lane_full', why, opens: 'the end of one of the jobs in it, or more slots', heldBy: facts.lane_held_by })
  }
  if (facts.workers === 0) {
    gates.push({ gate: 'no_worker', why: `no live worker handles ${facts.type}`, opens: `starting a worker with ${facts.type}` })
  }
  return gates
}

function inLine(facts: ExplainFacts): Gate {
  const ahead = facts.ahead ?? 0
  const many = ahead >= 10_000 ? 'at least 10000' : String(ahead)
  const turn = facts.gated && facts.keyed ? ' of its key; keys take turns' : ''
  const perMinute = Number(facts.ended_last_minute ?? 0)
  const eta = perMinute > 0 ? { opensInMs: Math.round(((ahead + 1) / perMinute) * 60_000) } : {}
  const expected = eta.opensInMs === undefined ? '' : `; at the pace of the last minute in about ${formatDuration(eta.opensInMs)}`
  return {
    gate: 'in_line',
    why: `it is free to run and ${many} jobs are ahead of it${turn}`,
    opens: `its turn${expected}`,
    ...eta,
  }
}
