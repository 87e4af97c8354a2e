// Serves, and takes a job over HTTP from a client's enqueue to its end. Bundled, and run alone.
import { Holdfast } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { startRemoteWorker } from 'holdfast/remote-worker'
import { createServer } from 'holdfast/server'
import { inline, inThread } from './handlers.mjs'

const key = 'hf_a-key-that-is-long-enough'

async function main() {
  const holdfast = new Holdfast({ connectionString: process.env.DATABASE_URL })
  const server = await createServer(holdfast, { adminKey: key })
  const url = await server.listen({ host: '127.0.0.1', port: 0 })
  const worker = await startRemoteWorker({ url, key }, [inline, inThread], { module: process.env.HANDLERS })
  const client = new HoldfastClient({ url, key })
  const ended = []
  for (const type of [inline, inThread]) {
    const { id } = await client.enqueue(type, { n: ended.length })
    ended.push((await client.wait(id, { timeout: '50s' })).status)
  }
  const page = await fetch(url)
  console.log(JSON.stringify({ ended, page: page.ok || (await page.json()).detail }))
  await worker.stop()
  await server.close()
  await holdfast.close()
}

void main()
