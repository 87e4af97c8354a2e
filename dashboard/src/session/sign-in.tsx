import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useEffect } from 'react'
import type { sessionWaysAnswer } from '../../../src/api/session.js'
import { ask } from '../api/ask.js'
import type { Answered } from '../api/use.js'
import { useLogIn } from './log-in.js'

/** How a sign-in through the provider ended, as the address says to which it sent the browser back. */
const endings = new Map(
  Object.entries({
    expired: 'The sign-in took longer than ten minutes, or began in another browser. Try again.',
    failed: 'The provider did not confirm the sign-in. Try again; the log of the server says why.',
    nameless: 'The provider did not say who you are, or your address is not verified.',
    'no-role': 'None of your groups has a role here. An administrator can map one of them to a role.',
  }),
)

/** Asks for a key, or leads to the provider where there is one; with a key from a link it logs in by itself. */
export function SignIn({ offered, problem }: { offered: string | undefined; problem: string | undefined }) {
  const logIn = useLogIn()
  const { mutate } = logIn
  useEffect(() => {
    if (offered !== undefined) mutate(offered)
  }, [offered, mutate])
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    mutate(String(new FormData(event.currentTarget).get('key') ?? '').trim())
  }
  const ways = useQuery({
    queryKey: ['session', 'ways'],
    queryFn: () => ask<Answered<typeof sessionWaysAnswer>>('session/ways'),
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
  })
  const ended = endings.get(/^#sign-in=([\w-]+)$/.exec(window.location.hash)?.[1] ?? '')
  const refusal = logIn.error?.message ?? ended ?? problem
  return (
    <main className="sign-in">
      <h1>
        <img src="./icon.svg" alt="" width="28" height="28" /> Holdfast
      </h1>
      {ways.data?.oidc && (
        <a className="button first" href="./session/oidc">
          Sign in with your account
        </a>
      )}
      <form className="card" onSubmit={submit}>
        <h2>Log in with a key</h2>
        <p>
          <code>npm start</code> prints one and keeps it in <code>.holdfast/admin.key</code>; elsewhere an administrator makes one
          with <code>holdfast keys create</code>.
        </p>
        <label>
          <span>Key</span>
          <input name="key" type="password" autoComplete="off" spellCheck={false} required />
        </label>
        {refusal && (
          <p role="alert" className="notice" data-status="dead">
            {refusal}
          </p>
        )}
        <button type="submit" className="first" disabled={logIn.isPending}>
          Log in
        </button>
      </form>
    </main>
  )
}
