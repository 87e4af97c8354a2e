import { useState } from 'react'
import { ExactNumber, writeExactly } from '../api/json.js'
import { Copy } from './copy.js'

/** Deeper than this, or longer, is folded at first. */
const unfolded = { depth: 3, entries: 40 }
const shownAtMost = 200

/** JSON as a tree that folds, with every number as it was stored. Text is text: nothing in it becomes markup. */
export function Json({ value, label }: { value: unknown; label: string }) {
  return (
    <div className="json-box">
      <Copy text={writeExactly(value, '  ')} label={`Copy the ${label}`} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard has to reach it */}
      <section className="json" tabIndex={0} aria-label={label}>
        <Value value={value} depth={0} />
      </section>
    </div>
  )
}

interface ValueProps {
  readonly value: unknown
  readonly depth: number
  readonly name?: string
}

function Value({ value, depth, name }: ValueProps) {
  const entries = entriesOf(value)
  if (entries === undefined || entries.length === 0) {
    return (
      <p>
        <Name name={name} />
        {writeExactly(value)}
      </p>
    )
  }
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return (
    <details open={depth < unfolded.depth && entries.length <= unfolded.entries}>
      <summary>
        <Name name={name} />
        {open} <span className="soft">{entries.length}</span>
      </summary>
      <Entries entries={entries} depth={depth + 1} named={!Array.isArray(value)} />
      <p>{close}</p>
    </details>
  )
}

function Entries({ entries, depth, named }: { entries: readonly [string, unknown][]; depth: number; named: boolean }) {
  const [all, setAll] = useState(false)
  const shown = all ? entries : entries.slice(0, shownAtMost)
  return (
    <div className="inner">
      {shown.map(([key, one]) => (
        <Value key={key} value={one} depth={depth} {...(named && { name: key })} />
      ))}
      {shown.length < entries.length && (
        <button type="button" className="plain" onClick={() => setAll(true)}>
          and {entries.length - shown.length} more
        </button>
      )}
    </div>
  )
}

const Name = ({ name }: { name: string | undefined }) =>
  name === undefined ? null : (
    <>
      <span className="name">{JSON.stringify(name)}</span>
      {': '}
    </>
  )

function entriesOf(value: unknown): readonly [string, unknown][] | undefined {
  if (value === null || typeof value !== 'object' || value instanceof ExactNumber) return undefined
  return Object.entries(value)
}
