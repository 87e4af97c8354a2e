// A plain script: enqueue, wait for the result, go. Run a worker beside it: npx holdfast work ./examples/jobs.mjs
import { holdfast, sendEmail } from './jobs.mjs'

const job = await holdfast.enqueue(sendEmail, { to: process.argv[2] ?? 'ada@example.com' })
const { sentTo } = await holdfast.wait(job, { timeout: '30s' })
console.log(`sent to ${sentTo}`)
await holdfast.close()
