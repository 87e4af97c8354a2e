import { makeScratchDatabase } from 'holdfast/testing'
import pg from 'pg'

/** The queue without a worker: the same SQL functions, called one by one, so that what each does can be counted exactly. */
export interface BareQueue {
  url: string
  client: pg.Client
  lane: number
  connect(): Promise<pg.Client>
  /** Stores that many jobs of the type `bare` as enqueue_jobs would, only faster. */
  fill(jobs: number): Promise<void>
  /** Claims and settles that many, in claims of 500, server-side. */
  drain(jobs: number): Promise<void>
  close(): Promise<void>
}

const helpers = `
  create sequence filled;
  create function fill(p_jobs integer) returns void language sql as $$
    with ids as materialized (
      select (substr(holdfast.first_id_at(holdfast.now())::text, 1, 13) || '-7000-8000-' || lpad(to_hex(nextval('filled')), 12, '0'))::uuid as id,
             t.id as type_id, t.lane_id, holdfast.now() as at
      from generate_series(1, p_jobs), holdfast.types as t
    ), stored as (
      insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, payload) select id, type_id, 5, 5, at, '{}' from ids
    )
    insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt) select at, id, type_id, lane_id, 5, 1 from ids
  $$;

  create function drain(p_jobs integer, p_lane smallint, p_after bigint[]) returns bigint[] language plpgsql as $$
  declare
    v_jobs uuid[];
    v_last bigint;
    v_lease bigint;
    v_done integer := 0;
  begin
    while v_done < p_jobs loop
      select c.ids, c.lease, c.seqs[cardinality(c.seqs)] into v_jobs, v_lease, v_last
      from holdfast.claim_jobs(1, p_lane, null, 500, 60000, p_after) as c;
      if v_jobs is null then
        raise exception 'only % jobs were found', v_done;
      end if;
      p_after[6] := v_last;
      perform holdfast.settle_jobs(v_jobs, array_fill(v_lease, array[cardinality(v_jobs)]), '{}', '{}', '{}',
        array_fill(1::double precision, array[cardinality(v_jobs)]), array_fill(0::double precision, array[cardinality(v_jobs)]),
        '{}', 1, array[v_lease]);
      v_done := v_done + cardinality(v_jobs);
    end loop;
    return p_after;
  end $$`

export const fromTheHead = Array(10).fill(0)
export const claim = (limit: number) =>
  `select unnest(ids) as job_id from holdfast.claim_jobs(1, $1::smallint, null, ${limit}, 60000, $2::bigint[])`

/** Ends what runs of the types whose names are like this: as completed, or as failed with another attempt in an hour. */
export async function settleRunning(client: pg.Client, failed: boolean, type: string): Promise<void> {
  await client.query(
    `select holdfast.settle_jobs(array_agg(q.job_id), array_agg(q.lease_id),
       case when $1 then array_agg('retry'::text) else '{}' end, case when $1 then array_agg('failed'::holdfast.outcome) else '{}' end,
       case when $1 then array_agg('{}'::text) else '{}' end, array_agg(1::float8), array_agg(0::float8),
       case when $1 then array_agg(3600000::float8) else '{}' end, 1, '{}')
     from holdfast.queue as q join holdfast.types as t on t.id = q.type_id where q.lease_id is not null and t.name like $2 having count(*) > 0`,
    [failed, type],
  )
}

export async function makeBareQueue(serverUrl = process.env.HOLDFAST_TEST_URL as string): Promise<BareQueue> {
  const scratch = await makeScratchDatabase(serverUrl)
  const clients: pg.Client[] = []
  const connect = async () => {
    const client = new pg.Client({ connectionString: scratch.connectionString })
    await client.connect()
    clients.push(client)
    return client
  }
  const client = await connect()
  // What is counted here must not depend on whether a vacuum or an analyze comes along.
  for (const table of ['queue', 'waiting', 'leases'])
    await client.query(`alter table holdfast.${table} set (autovacuum_enabled = off)`)
  await client.query(helpers)
  await client.query(`insert into holdfast.types (name, lane_id) select 'bare', id from holdfast.lanes where name = 'default'`)
  const { rows } = await client.query(`select lane_id from holdfast.types`)
  const lane = rows[0].lane_id
  return {
    url: scratch.connectionString,
    client,
    lane,
    connect,
    async fill(jobs) {
      await client.query('select fill($1)', [jobs])
    },
    async drain(jobs) {
      await client.query('select drain($1, $2, $3)', [jobs, lane, fromTheHead])
    },
    async close() {
      await Promise.all(clients.map((open) => open.end()))
      await scratch.drop()
    },
  }
}
