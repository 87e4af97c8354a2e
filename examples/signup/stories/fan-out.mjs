export const title = 'News for a thousand subscribers, some of whom cannot be reached'

/** A batch shows how far it is, and that it did not reach everybody; its callback runs once. */
export async function tell({ say, holdfast, until, countsOf }, { subscribers = 1_000 } = {}) {
  const { id } = await holdfast.batch({
    name: 'news for everybody',
    jobs: Array.from({ length: subscribers }, (_, subscriber) => ({ type: 'notify_subscriber', payload: { subscriber } })),
    onComplete: { type: 'report_fan_out', payload: { news: 'the shop is open' } },
  })
  const looks = []
  const ended = await until(
    async () => {
      const batch = await holdfast.batches.get(id)
      looks.push({ status: batch.status, done: batch.completed + batch.dead })
      say(`  ${batch.completed + batch.dead} of ${batch.total}`)
      return batch.status !== 'running' && batch
    },
    { every: 100 },
  )
  await until(async () => (await countsOf('report_fan_out')).completed === 1)
  say(`  ${ended.status}: ${ended.completed} reached, ${ended.dead} not`)
  return { looks, status: ended.status, completed: ended.completed, dead: ended.dead, reports: await countsOf('report_fan_out') }
}
