// What a job leaves behind: the whole database before it was stored and after it completed, all indexes included. The jobs come in
// several parts, the first of which does not count: a queue keeps room for as many jobs as ever waited in it, and uses it again.
import { drain, fill } from '../draining.mjs'
import { onStage } from '../stage.mjs'

/** Space that is free for the next jobs is not kept, but it is there; what stands free at the end of a file is given back. */
async function sizeOf(client) {
  await client.query('vacuum (analyze)')
  const { rows } = await client.query('select pg_database_size(current_database())::float8 as bytes')
  return rows[0].bytes
}

const parts = 5

const keeping = (system) => [
  system,
  (bench, size) =>
    onStage(bench, system, async (stage) => {
      const part = size.jobs / parts
      const pass = async () => {
        await fill(stage, part)
        await drain(stage, { jobs: part })
        return sizeOf(stage.client)
      }
      const before = await pass()
      let after = before
      for (let nth = 0; nth < parts; nth++) after = await pass()
      return { bytes: (after - before) / size.jobs }
    }),
]

export default {
  name: 'disk',
  sizes: {
    quick: { jobs: 20_000, rounds: 1 },
    short: { jobs: 100_000, rounds: 1 },
    full: { jobs: 1_000_000, rounds: 1 },
  },
  contestants: Object.fromEntries(['holdfast', 'pg-boss'].map(keeping)),
  rows: [
    {
      name: 'disk',
      title: () => 'disk kept per completed job with a payload of 200 bytes',
      unit: 'bytes',
      figure: 'bytes',
      better: 'lower',
      peers: ['pg-boss'],
      bars: [{ value: true, atMost: 420 }],
    },
  ],
}
