// The least that any queue on Postgres has to do, through the same driver and with no worker around it: jobs appended to a
// log, a claim that moves a mark forward, finished jobs appended to another log. It has no retries, no leases, no types, no
// priorities, loses what a late commit wrote behind the mark, and so is no queue: only a measure for one.
import { once } from 'node:events'
import pg from 'pg'
import copyStreams from 'pg-copy-streams'

const eachClaim = 500

const schema = `
  create table log (seq bigint generated always as identity primary key, payload json not null);
  create table finished (seq bigint primary key, started_at timestamptz not null, ended_at timestamptz not null, outcome smallint not null);
  create table mark (at bigint not null);
  insert into mark values (0)`

export async function prepare(url) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(schema)
  await client.end()
}

export function openProducer(url, { connections }) {
  const pool = new pg.Pool({ connectionString: url, max: connections })
  const insert = { name: 'insert', text: 'insert into log (payload) values ($1)' }
  const insertMany = { name: 'insertMany', text: 'insert into log (payload) select p::json from unnest($1::text[]) as p' }
  return {
    one: (payload) => pool.query({ ...insert, values: [JSON.stringify(payload)] }),
    many: (payloads) => pool.query({ ...insertMany, values: [payloads.map((payload) => JSON.stringify(payload))] }),
    async copy(payloads) {
      const client = await pool.connect()
      const stream = client.query(copyStreams.from('copy log (payload) from stdin'))
      // The payload holds nothing that COPY would take for a sign of its own.
      stream.end(payloads.map((payload) => `${JSON.stringify(payload)}\n`).join(''))
      await once(stream, 'finish')
      client.release()
    },
    close: () => pool.end(),
  }
}

export async function startWorker(url, _options, handle) {
  const clients = [1, 2].map(() => new pg.Client({ connectionString: url }))
  let settled = 0
  await Promise.all(clients.map((client) => client.connect()))
  const { rows } = await clients[0].query('select max(seq) as last from log')
  const drains = clients.map(async (client) => {
    for (;;) {
      const claimed = await client.query({ ...claim, values: [eachClaim, rows[0].last] })
      if (claimed.rows.length === 0) return
      for (const { payload } of claimed.rows) handle(payload)
      await client.query({ ...finish, values: [claimed.rows.map(({ seq }) => seq)] })
      settled += claimed.rows.length
    }
  })
  return {
    settled: () => settled,
    async stop() {
      await Promise.all(drains)
      await Promise.all(clients.map((client) => client.end()))
    },
  }
}

const claim = {
  name: 'claim',
  text: `with moved as (update mark set at = at + $1 where at < $2 returning at)
         select l.seq, l.payload from moved, log as l where l.seq > moved.at - $1 and l.seq <= moved.at order by l.seq`,
}
const finish = {
  name: 'finish',
  text: 'insert into finished (seq, started_at, ended_at, outcome) select s, now(), clock_timestamp(), 1 from unnest($1::bigint[]) as s',
}
