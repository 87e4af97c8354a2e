export const title = 'A bad deploy: a lease that is far too short'

/** The worker refuses to start, and says why; the one that runs goes on. */
export async function tell({ say, startWorker, signUp, allEnded, countsOf }) {
  const deployed = await startWorker({ LEASE: '30s' })
  say(`  the new worker ended at once: ${deployed.ready}`)
  await signUp(3)
  await allEnded('send_email')
  return { refused: deployed.ready, mails: await countsOf('send_email') }
}
