import { type KeyboardEvent, useEffect, useId, useState } from 'react'

interface FilterProps {
  readonly label: string
  readonly value: string
  readonly onValue: (value: string) => void
  /** Values to choose from; others can be typed. */
  readonly known?: readonly string[]
  readonly placeholder?: string
  readonly wide?: boolean
}

/** A field of a filter. It asks the server once somebody has finished: with Enter, by leaving it, or by choosing a known value. */
export function Filter({ label, value, onValue, known, placeholder, wide = false }: FilterProps) {
  const [draft, setDraft] = useState(value)
  const list = useId()
  useEffect(() => setDraft(value), [value])
  const finish = () => {
    if (draft.trim() !== value) onValue(draft.trim())
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter') finish()
    if (event.key === 'Escape') setDraft(value)
  }
  const onChange = (next: string) => {
    setDraft(next)
    if (next === '' || known?.includes(next)) onValue(next)
  }
  return (
    <>
      <input
        type="search"
        className={wide ? 'wide' : undefined}
        aria-label={label}
        placeholder={placeholder ?? label.toLowerCase()}
        list={known && list}
        value={draft}
        spellCheck={false}
        onChange={(event) => onChange(event.target.value)}
        onBlur={finish}
        onKeyDown={onKey}
      />
      {known && (
        <datalist id={list}>
          {known.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
    </>
  )
}

interface SelectProps {
  readonly label: string
  readonly value: string
  readonly onValue: (value: string) => void
  readonly options: Readonly<Record<string, string>>
}

export function Select({ label, value, onValue, options }: SelectProps) {
  return (
    <select aria-label={label} value={value} onChange={(event) => onValue(event.target.value)}>
      {Object.entries(options).map(([name, words]) => (
        <option key={name} value={name}>
          {words}
        </option>
      ))}
    </select>
  )
}

/** The values of a filter that stand in the address, and how to change one: the address is the filter, so a link keeps it. */
export function filterIn<Name extends string>(query: URLSearchParams, names: readonly Name[]): Readonly<Record<Name, string>> {
  return Object.fromEntries(names.map((name) => [name, query.get(name) ?? ''])) as Record<Name, string>
}
