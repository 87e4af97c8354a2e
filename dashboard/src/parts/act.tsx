import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import type { Permission } from '../../../src/api/permissions.js'
import { ask } from '../api/ask.js'
import { useMay } from '../session/session.js'
import { Dialog } from './dialog.js'
import { Field, given } from './fields.js'
import { Problem } from './page.js'
import { say } from './said.js'

/** What a form holds, by the names of its fields. */
export type Values = Readonly<Record<string, string>>

interface ActProps {
  /** On the button: one verb. */
  readonly name: string
  /** Over the form: what exactly is going to happen to what. */
  readonly title: string
  readonly says?: ReactNode
  readonly needs: Permission
  /** What has to be typed first. For what cannot be taken back. */
  readonly typed?: string
  readonly why?: 'asked' | 'needed' | 'none'
  readonly look?: 'first' | 'grave' | 'plain'
  readonly wide?: boolean
  /** The key that presses it. */
  readonly shortcut?: string
  /** Fields of the form, beside the reason. */
  readonly children?: ReactNode
  /** Where a POST goes with the reason, the time it is for and the confirmation, if that is all there is to send. */
  readonly posts?: string
  /** A sensitive type: it has to be typed, and is sent along. */
  readonly confirm?: string | undefined
  readonly send?: (values: Values) => Promise<unknown>
  /** What to say when it is done. */
  readonly done: string | ((answer: unknown) => string)
}

/** A button for something that changes things. It is not there for people who may not do it, and asks before it does anything. */
export function Act(props: ActProps) {
  const [open, setOpen] = useState(false)
  const may = useMay(props.needs)
  if (!may) return null
  return (
    <>
      <button type="button" className={props.look} aria-keyshortcuts={props.shortcut} onClick={() => setOpen(true)}>
        {props.name}
      </button>
      {open && (
        <Dialog title={props.title} onClose={() => setOpen(false)} wide={props.wide ?? false}>
          <ActForm {...props} close={() => setOpen(false)} />
        </Dialog>
      )}
    </>
  )
}

function ActForm(props: ActProps & { close: () => void }) {
  const { name, says, confirm, typed = confirm, why = 'asked', look, children, posts = '', done, close } = props
  const send =
    props.send ??
    ((values: Values) => ask(posts, { method: 'POST', body: { why: given(values.why), for: given(values.for), confirm } }))
  const client = useQueryClient()
  const [confirmation, setConfirmation] = useState('')
  const act = useMutation({
    mutationFn: send,
    onSuccess: async (answer) => {
      close()
      say(typeof done === 'string' ? done : done(answer))
      await client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    act.mutate(Object.fromEntries([...new FormData(event.currentTarget)].map(([field, value]) => [field, String(value)])))
  }
  return (
    <form onSubmit={submit}>
      {says && <div className="says">{says}</div>}
      {children}
      {why !== 'none' && (
        <Field
          name="why"
          label={why === 'needed' ? 'Why' : 'Why (optional; kept where people see it)'}
          required={why === 'needed'}
        />
      )}
      {typed !== undefined && (
        <label>
          <span>
            This cannot be taken back. Type <code>{typed}</code> to go on
          </span>
          <input
            value={confirmation}
            onChange={(event) => setConfirmation(event.target.value)}
            autoComplete="off"
            spellCheck={false}
          />
        </label>
      )}
      {act.error && <Problem error={act.error} />}
      <footer>
        <button type="button" onClick={close}>
          Back
        </button>
        <button
          type="submit"
          className={look === 'grave' ? 'grave' : 'first'}
          disabled={act.isPending || (typed !== undefined && confirmation !== typed)}
        >
          {act.isPending ? 'Working …' : name}
        </button>
      </footer>
    </form>
  )
}
