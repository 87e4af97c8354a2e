// The least that any queue on Postgres has to wait for from enqueue to start: one row committed with a NOTIFY, and one deleted by
// whoever hears it. No lease, no history; a job whose handler fails is gone. Only a measure.
import pg from 'pg'

const insert = {
  name: 'insert',
  text: "with stored as (insert into jobs (payload) values ($1)) select pg_notify('jobs', '')",
}
const take = {
  name: 'take',
  text: 'delete from jobs where id = (select id from jobs order by id limit 1 for update skip locked) returning payload',
}

export async function prepare(url) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('create table jobs (id bigint generated always as identity primary key, payload json not null)')
  await client.end()
}

export function openProducer(url) {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  return {
    one: (payload) => pool.query({ ...insert, values: [JSON.stringify(payload)] }),
    close: () => pool.end(),
  }
}

export async function startWorker(url, _options, handle) {
  const [hearing, taking] = [1, 2].map(() => new pg.Client({ connectionString: url }))
  await Promise.all([hearing.connect(), taking.connect()])
  let settled = 0
  hearing.on('notification', async () => {
    const { rows } = await taking.query(take)
    for (const { payload } of rows) handle(payload)
    settled += rows.length
  })
  await hearing.query('listen jobs')
  return {
    settled: () => settled,
    stop: () => Promise.all([hearing.end(), taking.end()]),
  }
}
