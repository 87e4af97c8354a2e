// Enqueues a job of each type and prints their ids. Bundled, and run alone.
import { Holdfast } from 'holdfast'
import { inline, inProcess, inThread } from './handlers.mjs'

async function main() {
  const holdfast = new Holdfast({ connectionString: process.env.DATABASE_URL })
  const ids = []
  for (const type of [inline, inThread, inProcess]) ids.push((await holdfast.enqueue(type, { n: ids.length })).id)
  await holdfast.close()
  console.log(JSON.stringify(ids))
}

void main()
