export const title = 'A slow dependency: the CRM takes ten times as long'

/** The CRM has two slots, whatever it takes: mails go out as ever while its jobs wait. One request in twenty never gets an answer. */
export async function tell({ say, mood, signUp, until, allEnded, countsOf, holdfast, ask }) {
  await mood({ crmMs: 1_000 })
  const answers = await signUp(15)
  const slowestAnswer = Math.max(...answers.map(({ ms }) => ms))
  say(`  the CRM takes a second; the slowest of 15 signups was answered in ${slowestAnswer.toFixed(0)} ms`)
  await allEnded('send_email', 'make_pdf', 'resize_avatar')
  const meanwhile = await countsOf('sync_crm')
  say(
    `  all mails, PDFs and avatars are done; of the CRM's jobs ${meanwhile.pending ?? 0} wait and ${meanwhile.processing ?? 0} run`,
  )
  const [waiting] = await ask("select id from holdfast.jobs where type = 'sync_crm' and status = 'pending' limit 1")
  const explanation = waiting && (await holdfast.explain(waiting.id))
  if (explanation) say(`  explain: ${explanation.gates[0].why}`)
  await mood({ crmMs: 100 })
  await until(async () => Object.keys(await countsOf('sync_crm')).join() === 'completed')
  const [{ timeouts }] = await ask(
    `select count(*)::int as timeouts from holdfast.attempts as a join holdfast.jobs as j on j.id = a.job_id
     where j.type = 'sync_crm' and a.outcome = 'timed_out'`,
  )
  say(`  the CRM is fast again, and the rest is done; ${timeouts} attempts had no answer from it, and were made again`)
  return { meanwhile, slowestAnswer, timeouts, mails: await countsOf('send_email'), crm: await countsOf('sync_crm') }
}
