export const title = 'The mail server is down: the breaker opens, and closes again'

/** Mails wait behind the breaker instead of failing one by one; when the server is back, each goes out once. */
export async function tell({ say, mood, signUp, until, allEnded, holdfast, seen, ask }) {
  await mood({ smtp: 'down' })
  const before = (await seen()).mails.length
  await signUp(12)
  const breaker = async () => (await holdfast.flow.gates()).find(({ type }) => type === 'send_email')?.breaker
  await until(async () => (await breaker())?.open)
  const [waiting] = await ask("select id from holdfast.jobs where type = 'send_email' and status = 'pending' limit 1")
  const explanation = waiting && (await holdfast.explain(waiting.id))
  if (explanation) say(`  explain: ${explanation.gates[0].why}`)
  await mood({ smtp: 'up' })
  await allEnded('send_email')
  const mails = (await seen()).mails.slice(before)
  say(`  the server is back: ${mails.length} mails arrived, ${new Set(mails).size} of them different`)
  return { mails: mails.length, different: new Set(mails).size, explanation }
}
