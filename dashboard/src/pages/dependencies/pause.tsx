import type { Dependency } from '../../api/answers.js'
import { pathOf } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { ForField } from '../../parts/overrides.js'

/** Pauses all types that use a dependency, or lets them run again. */
export function PauseDependency({ dependency: { name, paused, types } }: { dependency: Dependency }) {
  const path = `admin/dependencies/${pathOf(name)}`
  return paused ? (
    <Act
      name="Resume"
      title={`Let the types that use ${name} run again?`}
      says="What waits is taken up at once, within its limits."
      needs="workers:manage"
      look="first"
      posts={`${path}/resume`}
      done={`${name} is used again`}
    />
  ) : (
    <Act
      name="Pause"
      title={`Pause ${name}?`}
      says={`Jobs of the ${types.length} types that use it wait until somebody resumes it. What runs is finished.`}
      needs="workers:manage"
      posts={`${path}/pause`}
      done={`${name} is paused`}
    >
      <ForField />
    </Act>
  )
}
