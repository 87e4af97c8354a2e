export const title = 'A canary: one worker has a new build, whose mails fail'

/** The new build is compared with the one before it, and drained; the workers of that one finish the rest, and what had died. */
export async function tell({ say, holdfast, startWorker, signUp, until, allEnded, countsOf, ask }) {
  const { builds } = holdfast.flow
  const died = async () => (await holdfast.deadLetters.list({ type: 'send_email' })).letters
  await signUp(5)
  await allEnded('send_email')
  const canary = await startWorker({ HOLDFAST_BUILD: '2.0', BROKEN_MAIL: 'yes' })
  const verdict = await until(
    async () => {
      await signUp(1)
      const judged = await builds.canary('2.0')
      return judged.verdict === 'roll back' && judged
    },
    { every: 500 },
  )
  say(`  ${verdict.build} beside ${verdict.baseline}: ${verdict.verdict}`)
  for (const { says, because } of verdict.findings) if (says === 'roll back') say(`  ${because}`)

  await builds.drain('2.0', { by: 'ada', why: 'its mails fail' })
  // It hears of it within 15 s, finishes what it has, and is deployed over.
  await canary.stop()
  const letters = await died()
  for (const { id } of letters) await holdfast.deadLetters.replay(id, { by: 'ada', why: 'build 2.0 is gone' })
  await signUp(5)
  await allEnded('send_email', 'make_pdf', 'resize_avatar', 'sync_crm')
  const rescuedBy = await ask("select distinct build from holdfast.attempts where outcome = 'completed' and job_id = any ($1)", [
    letters.map(({ id }) => id),
  ])
  say(`  drained: ${letters.length} mails had died on it, and build ${rescuedBy[0].build} sent them`)
  return {
    verdict,
    died: letters.length,
    rescuedBy: rescuedBy.map(({ build }) => build),
    drained: (await builds.list()).find(({ build }) => build === '2.0').drained,
    mails: await countsOf('send_email'),
  }
}
