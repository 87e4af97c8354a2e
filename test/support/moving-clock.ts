import type pg from 'pg'

/** Moves the database's clock that far ahead of the real one; time runs on from there. */
export async function moveClock(client: pg.Client, ahead: string): Promise<void> {
  await client.query(`create or replace function holdfast.now() returns timestamptz language sql volatile parallel safe
                      as 'select pg_catalog.clock_timestamp() + interval ''${ahead}'''`)
}

/** Arguments of Node for a program on a host whose clock is that far ahead, or behind; intervals are measured as ever. */
export function wrongClock(aheadMs: number): string[] {
  const text = `const D = Date
    globalThis.Date = class extends D {
      constructor(...a) { a.length ? super(...a) : super(D.now() + ${aheadMs}) }
      static now() { return D.now() + ${aheadMs} }
    }`
  return [`--import=data:text/javascript,${encodeURIComponent(text)}`]
}
