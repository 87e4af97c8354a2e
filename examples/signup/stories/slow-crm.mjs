export const title = 'A slow dependency: the CRM takes ten times as long'

/** The CRM has two slots, whatever it takes: mails go out as ever while its jobs wait. */
export async function tell({ say, mood, signUp, until, allEnded, countsOf, holdfast, ask }) {
  await mood({ crmMs: 400 })
  await signUp(15)
  await allEnded('send_email', 'make_pdf', 'resize_avatar')
  const meanwhile = await countsOf('sync_crm')
  say(
    `  all mails, PDFs and avatars are done; of the CRM's jobs ${meanwhile.pending ?? 0} wait and ${meanwhile.processing ?? 0} run`,
  )
  const [waiting] = await ask("select id from holdfast.jobs where type = 'sync_crm' and status = 'pending' limit 1")
  const explanation = waiting && (await holdfast.explain(waiting.id))
  if (explanation) say(`  explain: ${explanation.gates[0].why}`)
  await mood({ crmMs: 20 })
  await until(async () => Object.keys(await countsOf('sync_crm')).join() === 'completed')
  say('  the CRM is fast again, and the rest is done')
  return { meanwhile, mails: await countsOf('send_email'), crm: await countsOf('sync_crm') }
}
