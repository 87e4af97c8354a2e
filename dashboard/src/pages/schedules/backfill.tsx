import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { backfilledAnswer } from '../../../../src/api/schedules.js'
import { ask } from '../../api/ask.js'
import { type Answered, pathOf } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { given } from '../../parts/fields.js'
import { Problem } from '../../parts/page.js'

type Filled = Answered<typeof backfilledAnswer>

/** Makes the jobs of ticks that are over. It says how many there are before it makes one. */
export function Backfill({ name }: { name: string }) {
  const [from, setFrom] = useState('')
  const [to, setTo] = useState('')
  const fill = (dryRun: boolean, why?: string) =>
    ask<Filled>(`admin/schedules/${pathOf(name)}/backfill`, {
      method: 'POST',
      body: { from: new Date(from).toISOString(), to: new Date(to).toISOString(), dry_run: dryRun, why: given(why) },
    })
  const ready = from !== '' && to !== ''
  const counted = useQuery({
    queryKey: ['backfill', name, from, to],
    queryFn: () => fill(true),
    enabled: ready,
    refetchInterval: false,
    retry: false,
  })
  return (
    <Act
      name="Backfill"
      title={`Make the jobs of past ticks of ${name}`}
      says="Ticks that have made a job already make no second one."
      needs="workers:manage"
      send={({ why }) => fill(false, why)}
      done={(answer) => `${(answer as Filled).made.length} jobs are made`}
    >
      <div className="pair">
        <label>
          <span>From</span>
          <input type="datetime-local" required value={from} onChange={(event) => setFrom(event.target.value)} />
        </label>
        <label>
          <span>To</span>
          <input type="datetime-local" required value={to} onChange={(event) => setTo(event.target.value)} />
        </label>
      </div>
      {ready && counted.error && <Problem error={counted.error} />}
      {ready && counted.data && (
        <p>
          <b className="large">{counted.data.ticks}</b> ticks lie between them.
        </p>
      )}
    </Act>
  )
}
