export const title = 'An emergency: one type of jobs is paused'

/** What is paused waits and is not lost; everything else goes on. */
export async function tell({ say, signUp, allEnded, countsOf, holdfast }) {
  await holdfast.flow.pauseType('sync_crm', { by: 'ada', why: 'it floods the CRM' })
  await signUp(5)
  await allEnded('send_email', 'make_pdf', 'resize_avatar')
  const paused = await countsOf('sync_crm')
  say(`  everything else is done; ${paused.pending} jobs of sync_crm wait`)
  await holdfast.flow.resumeType('sync_crm', { by: 'ada' })
  await allEnded('sync_crm')
  const resumed = await countsOf('sync_crm')
  say(`  resumed: ${resumed.completed} completed`)
  return { paused, resumed }
}
