import { defineType } from 'holdfast'
import { scratchQueue } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { expect, test, vi } from 'vitest'

const quiet = { info() {}, warn() {}, error() {} }
const patiently = { timeout: 20_000, interval: 10 }

test('a call that comes while the worker is asking what is due is not forgotten', async () => {
  const queue = await scratchQueue()
  const sql = new pg.Client({ connectionString: queue.connectionString })
  await sql.connect()
  // The answer is read at once and arrives when this test lets it.
  await sql.query(`
    alter function holdfast.tick rename to tick_at_once;
    create function holdfast.tick(p_limit integer, p_after timestamptz, p_within_ms integer, p_types integer[])
    returns table (promoted integer, read_to timestamptz, next_in_ms double precision, duties jsonb, gate_open boolean)
    language plpgsql as $$
    begin
      return query select * from holdfast.tick_at_once(p_limit, p_after, p_types => p_types);
      perform pg_advisory_xact_lock_shared(42);
    end $$`)
  const untilThereIs = (rows: string) =>
    vi.waitFor(async () => expect((await sql.query(`select from ${rows}`)).rowCount).toBeGreaterThan(0), patiently)
  const ran: unknown[] = []
  const soon = defineType({ type: 'soon', run: (payload) => void ran.push(payload) })
  // It looks by itself once a minute, so within this test only calls can tell it anything.
  const worker = await startWorker(queue.holdfast, [soon], { logger: quiet, poll: '60s' })
  await untilThereIs('holdfast.idle_workers')

  await sql.query('select pg_advisory_lock(42)')
  await queue.holdfast.enqueue(soon, 'at once')
  await untilThereIs(`pg_stat_activity where wait_event = 'advisory' and datname = current_database()`)
  await queue.holdfast.enqueue(soon, 'in a moment', { delay: 50 })
  await sql.query('select pg_advisory_unlock(42)')
  await vi.waitFor(() => expect(ran).toEqual(['at once', 'in a moment']), patiently)
  await worker.stop()
  await sql.end()
  await queue.close()
}, 60_000)
