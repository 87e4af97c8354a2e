import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { type JobFilter, readQuery, writeQuery } from './query-text.js'
import { type Known, suggestionsFor, withSuggestion, wordAt } from './suggestions.js'

interface QueryBarProps {
  readonly filter: JobFilter
  readonly onFilter: (filter: JobFilter) => void
  readonly known: Known
}

const example = 'status:failed type:mail text:timeout payload.user.id:42 age:>1h'

/** One line in which every field of the filter can be typed, with what may come next. Enter asks the server. */
export function QueryBar({ filter, onFilter, known }: QueryBarProps) {
  const written = writeQuery(filter)
  const [text, setText] = useState(written)
  const [caret, setCaret] = useState(0)
  const [open, setOpen] = useState(false)
  const [at, setAt] = useState(-1)
  const [problem, setProblem] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const list = useId()
  useEffect(() => setText(written), [written])
  const found = open ? suggestionsFor(wordAt(text, caret).word, known) : []
  const chosen = found[at]

  const type = (next: string, position: number) => {
    setText(next)
    setCaret(position)
    setAt(-1)
    setProblem('')
  }
  const choose = (one: string) => {
    const next = withSuggestion(text, caret, one)
    type(next.text, next.caret)
    setOpen(true)
    requestAnimationFrame(() => input.current?.setSelectionRange(next.caret, next.caret))
    input.current?.focus()
  }
  const finish = () => {
    setOpen(false)
    const read = readQuery(text)
    if ('problem' in read) setProblem(read.problem)
    else if (JSON.stringify(read.filter) !== JSON.stringify(filter)) onFilter(read.filter)
  }
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      setOpen(true)
      setAt(Math.min(found.length - 1, Math.max(-1, at + step)))
    } else if ((event.key === 'Enter' || event.key === 'Tab') && chosen !== undefined) choose(chosen)
    else if (event.key === 'Enter') finish()
    else if (event.key === 'Escape' && open) setOpen(false)
    else if (event.key === 'Escape') setText(written)
    else return
    if (event.key !== 'Escape') event.preventDefault()
  }
  return (
    <div className="query">
      <input
        ref={input}
        role="combobox"
        aria-label="Filter of jobs"
        aria-expanded={found.length > 0}
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={chosen === undefined ? undefined : `${list}-${at}`}
        aria-invalid={problem !== ''}
        aria-describedby={`${list}-problem`}
        className="mono"
        placeholder={example}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          type(event.target.value, event.target.selectionStart ?? event.target.value.length)
          setOpen(true)
        }}
        onSelect={(event) => setCaret(event.currentTarget.selectionStart ?? 0)}
        onFocus={() => setOpen(true)}
        onBlur={finish}
        onKeyDown={onKey}
      />
      <div role="listbox" id={list} aria-label="What may come next" className="suggestions" hidden={found.length === 0}>
        {found.map((one, position) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field, which keeps the focus
          <span
            key={one}
            id={`${list}-${position}`}
            role="option"
            tabIndex={-1}
            aria-selected={position === at}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(one)}
          >
            {one}
          </span>
        ))}
      </div>
      <p id={`${list}-problem`} role="alert" className="status" data-status="dead">
        {problem}
      </p>
    </div>
  )
}
