export const title = 'Deliveries to a partner that takes a hundred at a time'

/** The document has 5,000 deliveries at a hundred a minute; here the minute is a second. No stretch of that length has more. */
export async function tell({ say, holdfast, allEnded, seen }, { deliveries = 400 } = {}) {
  await holdfast.enqueueMany(Array.from({ length: deliveries }, (_, event) => ({ type: 'deliver_webhook', payload: { event } })))
  await allEnded('deliver_webhook')
  const times = (await seen()).deliveries
  const took = (times.at(-1) - times[0]) / 1000
  say(`  ${times.length} deliveries in ${took.toFixed(1)} s, a hundred a second at most`)
  return { delivered: times.length, took }
}
