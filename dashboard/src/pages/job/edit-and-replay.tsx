import { useState } from 'react'
import { ask } from '../../api/ask.js'
import { parseExactly, writeExactly } from '../../api/json.js'
import { pathOf } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { Diff } from '../../parts/diff.js'
import { given, JsonField } from '../../parts/fields.js'
import { replayedWords, WillWait } from '../dead/replay-waits.js'
import type { AboutJob } from './acts.js'

/** Replays a dead job with another payload, and shows what is different before anything is sent. */
export function EditAndReplay({ job, confirm }: AboutJob) {
  const before = writeExactly(job.payload, '  ')
  const [text, setText] = useState(before)
  return (
    <Act
      name="Edit and replay"
      title={`Replay this ${job.type} job with another payload`}
      needs="dlq:manage"
      wide
      why="needed"
      {...(confirm === undefined ? {} : { typed: confirm })}
      send={({ payload, why }) =>
        ask(`admin/dlq/${pathOf(job.id)}/replay`, {
          method: 'POST',
          body: { payload: parseExactly(payload ?? 'null'), why: given(why), confirm },
        })
      }
      done={replayedWords('Replayed with the new payload')}
    >
      <WillWait type={job.type} />
      <JsonField
        name="payload"
        label="Payload"
        first={before}
        rows={Math.min(16, before.split('\n').length + 1)}
        hint="Values that are redacted here cannot be sent back as they are."
        onText={setText}
      />
      <Diff before={before} after={written(text)} />
    </Act>
  )
}

/** As the server would get it, so that white space is no difference; as typed while it is not JSON. */
function written(text: string): string {
  try {
    return writeExactly(parseExactly(text), '  ')
  } catch {
    return text
  }
}
