import type { ExecutionAnswer } from '../../../../src/api/executions.js'
import { ask } from '../../api/ask.js'
import { pathOf } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { Choice, given } from '../../parts/fields.js'
import { go } from '../../routing.js'

/** What can be done to an execution as it stands. */
export function ExecutionActs({ execution: { id, status }, tasks }: { execution: ExecutionAnswer; tasks: readonly string[] }) {
  const path = `executions/${pathOf(id)}`
  const post = (verb: string, body: object) => ask(`${path}/${verb}`, { method: 'POST', body })
  return (
    <div className="row">
      {status === 'running' && (
        <Act
          name="Cancel"
          title="Cancel this execution?"
          says="Nothing of it starts any more; its jobs and sub-workflows are cancelled, running ones too. It can be resumed."
          needs="jobs:cancel"
          shortcut="c"
          send={({ why }) => post('cancel', { why: given(why) })}
          done="Cancelled"
        />
      )}
      {(status === 'failed' || status === 'cancelled') && (
        <Act
          name="Resume"
          title="Go on with this execution?"
          says="Dead jobs are replayed, cancelled ones are made again, and what was given up waits again."
          needs="dlq:manage"
          look="first"
          shortcut="r"
          send={({ why }) => post('resume', { why: given(why) })}
          done="Resumed"
        />
      )}
      {status !== 'running' && tasks.length > 0 && (
        <Act
          name="Rerun from a task"
          title="Run it again from a task on"
          says="A new execution with the same input and graph; results that do not depend on the task are taken over."
          needs="jobs:enqueue"
          send={async ({ from, why }) => {
            const started = (await post('rerun', { from, why: given(why) })) as { id: string }
            go(`/workflows/${started.id}`)
          }}
          done="A new execution is started"
        >
          <Choice name="from" label="From" options={Object.fromEntries(tasks.map((name) => [name, name]))} />
        </Act>
      )}
    </div>
  )
}
