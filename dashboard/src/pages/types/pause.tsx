import { ask } from '../../api/ask.js'
import { pathOf } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { given } from '../../parts/fields.js'

/** Pauses a type, or lets it run again. */
export function PauseOrResume({ type, paused }: { type: string; paused: boolean }) {
  const send = (verb: string) => (values: { why?: string }) =>
    ask(`admin/job-types/${pathOf(type)}/${verb}`, { method: 'POST', body: { why: given(values.why) } })
  return paused ? (
    <Act
      name="Resume"
      title={`Let ${type} run again?`}
      says="What waits is taken up at once, within its limits."
      needs="workers:manage"
      look="first"
      send={send('resume')}
      done={`${type} runs again`}
    />
  ) : (
    <Act
      name="Pause"
      title={`Pause ${type}?`}
      says="Its jobs wait until somebody resumes it; new ones are still taken. What runs is finished."
      needs="workers:manage"
      send={send('pause')}
      done={`${type} is paused`}
    />
  )
}
