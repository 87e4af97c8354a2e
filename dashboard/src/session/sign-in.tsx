import { type FormEvent, useEffect } from 'react'
import { useLogIn } from './log-in.js'

/** Asks for a key; with one from a link it logs in by itself. */
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
  const refusal = logIn.error?.message ?? problem
  return (
    <main className="sign-in">
      <h1>
        <img src="./icon.svg" alt="" width="28" height="28" /> Holdfast
      </h1>
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
