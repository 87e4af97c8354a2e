export const title = 'Deliveries to a partner that takes a hundred at a time'

/**
 * The document has 5,000 deliveries at a hundred a minute; here the minute is a second, and DELIVERIES sets how many there are. No stretch
 * of that length has more.
 */
export async function tell({ say, holdfast, allEnded, seen, ask }, { deliveries = Number(process.env.DELIVERIES ?? 400) } = {}) {
  for (let first = 0; first < deliveries; first += 1_000) {
    const count = Math.min(1_000, deliveries - first)
    const jobs = Array.from({ length: count }, (_, n) => ({ type: 'deliver_webhook', payload: { event: first + n } }))
    await holdfast.enqueueMany(jobs)
  }
  await allEnded('deliver_webhook')
  const starts = await ask(
    `select extract(epoch from a.started_at)::float as at from holdfast.attempts as a join holdfast.jobs as j on j.id = a.job_id
     where j.type = 'deliver_webhook' order by 1`,
  )
  const most = Math.max(...starts.map(({ at }, n) => starts.slice(n).filter((later) => later.at < at + 1).length))
  const took = starts.at(-1).at - starts[0].at
  const delivered = (await seen()).deliveries.length
  say(`  ${delivered} deliveries in ${took.toFixed(1)} s; the second that had the most of them had ${most}`)
  return { delivered, took, most }
}
