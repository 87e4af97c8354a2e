// Tests a handler with the test kit. Bundled, and run alone.
import { scratchQueue } from 'holdfast/testing'
import { inline } from './handlers.mjs'

async function main() {
  const queue = await scratchQueue()
  await queue.holdfast.enqueue(inline, { n: 1 })
  await queue.assertEnqueued(inline, { n: 1 })
  const { completed } = await queue.drain([inline])
  await queue.close()
  console.log(JSON.stringify(completed.map(({ status }) => status)))
}

main().catch((error) => console.log(`${error.code}: ${error.message}`))
