export const title = 'A poison image: decoding it takes all memory there is'

/** Four good avatars and a bomb: the bomb ends as a dead letter, and nobody else notices. */
export async function tell({ say, signUp, allEnded, countsOf, ask }) {
  await signUp(4)
  await signUp(1, 'a bomb')
  await allEnded('send_email', 'sync_crm', 'make_pdf', 'resize_avatar')
  const avatars = await countsOf('resize_avatar')
  const [letter] = await ask("select attempt, error from holdfast.jobs where type = 'resize_avatar' and status = 'dead'")
  const restarts = await ask("select distinct worker_id from holdfast.attempts where outcome = 'completed'")
  say(`  avatars: ${avatars.completed} completed, ${avatars.dead} dead after attempt ${letter.attempt}: ${letter.error.message}`)
  say(`  the worker went on: all other work was done by ${restarts.length} worker`)
  return { avatars, letter, workers: restarts.length, mails: await countsOf('send_email') }
}
