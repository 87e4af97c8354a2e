import { sleep } from '../clock.js'
import { isConnectionTrouble } from '../store/sqlstate.js'

/** What the members answered, and which of them did not. */
export interface Asked<Answer> {
  answers: Map<string, Answer>
  unavailable: string[]
}

/** A member that says nothing does not hold up what the others have to say for longer than this. */
const answerWithinMs = 5_000

/** Asks several members at once. One that is away is named; what another refuses is thrown. */
export async function askAll<Answer>(names: readonly string[], ask: (name: string) => Promise<Answer>): Promise<Asked<Answer>> {
  const answers = new Map<string, Answer>()
  const unavailable: string[] = []
  const silence = sleep(answerWithinMs, { unref: true }).then(() => ({ kind: 'silent' as const }))
  const all = names.map(async (name) => {
    const answer = ask(name).then(
      (said) => ({ kind: 'said' as const, said }),
      (error: unknown) => {
        if (isConnectionTrouble(error)) return { kind: 'silent' as const }
        throw error
      },
    )
    return { name, ...(await Promise.race([answer, silence])) }
  })
  for (const one of await Promise.all(all)) {
    if (one.kind === 'said') answers.set(one.name, one.said)
    else unavailable.push(one.name)
  }
  return { answers, unavailable }
}
