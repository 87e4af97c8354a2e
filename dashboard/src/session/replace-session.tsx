import { useLogIn } from './log-in.js'
import { forgetOfferedKey } from './offered-key.js'

/** A link brought a key while somebody is logged in. Whoever sent it must not decide as whom the reader goes on. */
export function ReplaceSession({ now, offered }: { now: string; offered: string }) {
  const logIn = useLogIn()
  return (
    <main className="sign-in">
      <h1>
        <img src="./icon.svg" alt="" width="28" height="28" /> Holdfast
      </h1>
      <form className="card" onSubmit={(event) => event.preventDefault()}>
        <h2>Log in with the key of the link?</h2>
        <p>
          You are logged in as <b>{now}</b>. The link that you followed brings another key.
        </p>
        <div className="row">
          <button type="button" className="first" onClick={forgetOfferedKey}>
            Stay {now}
          </button>
          <button type="button" disabled={logIn.isPending} onClick={() => logIn.mutate(offered)}>
            Change to the key of the link
          </button>
        </div>
      </form>
    </main>
  )
}
