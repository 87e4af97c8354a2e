import { pathOf } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { ForField } from '../../parts/overrides.js'

/** Pauses a type, or lets it run again. */
export function PauseOrResume({ type, paused }: { type: string; paused: boolean }) {
  const path = `admin/job-types/${pathOf(type)}`
  return paused ? (
    <Act
      name="Resume"
      title={`Let ${type} run again?`}
      says="What waits is taken up at once, within its limits."
      needs="workers:manage"
      look="first"
      posts={`${path}/resume`}
      done={`${type} runs again`}
    />
  ) : (
    <Act
      name="Pause"
      title={`Pause ${type}?`}
      says="Its jobs wait until somebody resumes it; new ones are still taken. What runs is finished."
      needs="workers:manage"
      posts={`${path}/pause`}
      done={`${type} is paused`}
    >
      <ForField />
    </Act>
  )
}
