import { type InputHTMLAttributes, type ReactNode, useState } from 'react'
import { parseExactly } from '../api/json.js'

interface Named {
  readonly name: string
  readonly label: string
  readonly hint?: ReactNode
}

export function Field({ name, label, hint, ...rest }: Named & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <label>
      <span>{label}</span>
      <input name={name} autoComplete="off" spellCheck={false} {...rest} />
      {hint && <small>{hint}</small>}
    </label>
  )
}

interface OfJob {
  readonly first?: number | string | undefined
  readonly label?: string
  readonly hint?: string
  readonly required?: boolean
}

/** A priority, as every form has it. */
export const PriorityField = ({ first = '', label = 'Priority, 0 to 9', ...rest }: OfJob) => (
  <Field name="priority" label={label} type="number" min={0} max={9} defaultValue={first} {...rest} />
)

export const AttemptsField = ({ first = '', label = 'Attempts, 1 to 20', ...rest }: OfJob) => (
  <Field name="max_attempts" label={label} type="number" min={1} max={20} defaultValue={first} {...rest} />
)

export function Choice({
  name,
  label,
  hint,
  options,
  first,
}: Named & { options: Readonly<Record<string, string>>; first?: string }) {
  return (
    <label>
      <span>{label}</span>
      <select name={name} defaultValue={first}>
        {Object.entries(options).map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
      {hint && <small>{hint}</small>}
    </label>
  )
}

export function Check({ name, label, value = 'yes', checked = false }: Named & { value?: string; checked?: boolean }) {
  return (
    <label className="check">
      <input type="checkbox" name={name} value={value} defaultChecked={checked} />
      <span>{label}</span>
    </label>
  )
}

interface JsonFieldProps extends Named {
  readonly first: string
  readonly rows?: number
  readonly onText?: (text: string) => void
}

/** A field for JSON. It says while somebody types whether it is JSON, and the form is not sent as long as it is not. */
export function JsonField({ name, label, hint, first, rows = 8, onText }: JsonFieldProps) {
  const [problem, setProblem] = useState('')
  const check = (field: HTMLTextAreaElement) => {
    const found = problemOf(field.value)
    field.setCustomValidity(found)
    setProblem(found)
    onText?.(field.value)
  }
  return (
    <label>
      <span>{label}</span>
      <textarea
        name={name}
        className="mono"
        rows={rows}
        defaultValue={first}
        spellCheck={false}
        aria-invalid={problem !== ''}
        onChange={(event) => check(event.target)}
      />
      <small data-status={problem === '' ? undefined : 'dead'} className={problem === '' ? undefined : 'status'}>
        {problem === '' ? hint : problem}
      </small>
    </label>
  )
}

function problemOf(text: string): string {
  try {
    parseExactly(text)
    return ''
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}`
  }
}

/** What stands in a field, for the API: nothing where it is empty. */
export const given = (text: string | undefined) => (text === undefined || text.trim() === '' ? undefined : text.trim())
export const givenNumber = (text: string | undefined) => (given(text) === undefined ? undefined : Number(text))
/** Of a limit that is taken away by emptying its field. */
export const numberOrNull = (text: string | undefined) => givenNumber(text) ?? null
export const listOf = (text: string | undefined) =>
  given(text)
    ?.split(/[\s,]+/)
    .filter(Boolean)
