import { useState } from 'react'
import { Select } from '../../parts/filter.js'
import type { JobFilter } from './query-text.js'

const ages = {
  '': 'of any time',
  '<15m': 'of the last 15 minutes',
  '<1h': 'of the last hour',
  '<24h': 'of the last day',
  '<7d': 'of the last 7 days',
  range: 'between two times …',
}

interface TimeRangeProps {
  readonly filter: JobFilter
  readonly change: (values: Partial<JobFilter>) => void
}

/** When jobs were enqueued: up to so long ago, or between two times, in the time zone of this browser. */
export function TimeRange({ filter: { age, from, to }, change }: TimeRangeProps) {
  const [free, setFree] = useState(from !== '' || to !== '')
  const other = age !== '' && !(age in ages) ? { [age]: age } : {}
  const choose = (next: string) => {
    setFree(next === 'range')
    change({ age: next === 'range' ? '' : next, from: '', to: '' })
  }
  const open = free || from !== '' || to !== ''
  return (
    <>
      <Select label="Enqueued" value={open ? 'range' : age} onValue={choose} options={{ ...ages, ...other }} />
      {open && (
        <>
          <Time label="Enqueued from" value={from} onValue={(next) => change({ from: next, age: '' })} />
          <Time label="Enqueued before" value={to} onValue={(next) => change({ to: next, age: '' })} />
        </>
      )}
    </>
  )
}

function Time({ label, value, onValue }: { label: string; value: string; onValue: (value: string) => void }) {
  return (
    <input
      type="datetime-local"
      aria-label={label}
      key={value}
      defaultValue={value}
      onBlur={({ target }) => target.value !== value && onValue(target.value)}
    />
  )
}
