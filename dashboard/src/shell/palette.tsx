import { type KeyboardEvent, useId, useState } from 'react'
import type { gatesAnswer, lanesAnswer } from '../../../src/api/admin.js'
import { type Answered, useAnswer } from '../api/use.js'
import { pages } from '../pages/index.js'
import { Dialog } from '../parts/dialog.js'
import { addressOf } from '../routing.js'
import { useMay, useSession } from '../session/session.js'
import { mayOpen } from './side.js'

interface Goal {
  readonly address: string
  readonly title: string
  readonly kind: string
}

const shownAtMost = 12
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Goes anywhere by a few letters: a page, a type, a lane, or a job by its id. */
export function Palette({ close }: { close: () => void }) {
  const goals = useGoals()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const list = useId()
  const found = [...byId(text.trim()), ...goals.filter(({ title, kind }) => fits(`${kind} ${title}`, text))].slice(0, shownAtMost)
  const chosen = found[Math.min(at, found.length - 1)]
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) setAt(Math.min(found.length - 1, Math.max(0, at + step)))
    else if (event.key === 'Enter' && chosen) window.location.hash = chosen.address
    else return
    event.preventDefault()
    if (event.key === 'Enter') close()
  }
  return (
    <Dialog title="Go to" onClose={close}>
      <input
        role="combobox"
        aria-label="A page, job type, lane, or the id of a job"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={chosen && `${list}-${found.indexOf(chosen)}`}
        placeholder="a page, job type, lane, or the id of a job"
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setAt(0)
        }}
        onKeyDown={onKey}
      />
      <div className="goals" role="listbox" id={list} aria-label="Where to">
        {found.map((goal, position) => (
          <a
            key={goal.address}
            href={goal.address}
            tabIndex={-1}
            id={`${list}-${position}`}
            role="option"
            aria-selected={goal === chosen}
            onClick={close}
          >
            {goal.title} <small>{goal.kind}</small>
          </a>
        ))}
      </div>
      {found.length === 0 && <p className="empty">Nothing is called that.</p>}
    </Dialog>
  )
}

function useGoals(): Goal[] {
  const { permissions } = useSession()
  const enabled = useMay('workers:view')
  const types = useAnswer<Answered<typeof gatesAnswer>>('admin/job-types', {}, { enabled })
  const lanes = useAnswer<Answered<typeof lanesAnswer>>('admin/workers/lanes', {}, { enabled })
  return [
    ...pages.flatMap(({ path, menu, needs }) =>
      menu && mayOpen(needs, permissions) ? [{ address: addressOf(path), title: menu.title, kind: 'page' }] : [],
    ),
    ...(types.data?.types ?? []).map(({ type }) => ({
      address: addressOf(`/types/${encodeURIComponent(type)}`),
      title: type,
      kind: 'job type',
    })),
    ...(lanes.data?.lanes ?? []).map(({ name }) => ({ address: addressOf('/lanes', { lane: name }), title: name, kind: 'lane' })),
  ]
}

const byId = (text: string): Goal[] =>
  uuid.test(text)
    ? [
        { address: addressOf(`/jobs/${text}`), title: text, kind: 'job' },
        { address: addressOf(`/workflows/${text}`), title: text, kind: 'workflow execution' },
        { address: addressOf(`/batches/${text}`), title: text, kind: 'batch' },
      ]
    : []

/** Every word that was typed stands somewhere in it. */
function fits(words: string, typed: string): boolean {
  const there = words.toLowerCase()
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => there.includes(word))
}
