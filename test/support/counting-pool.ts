import pg from 'pg'

export interface Sent {
  text: string
  values: unknown[]
}

/** A pool that notes every statement that goes through it, as whoever uses it sends them. */
export function makeCountingPool(connectionString: string): { pool: pg.Pool; sent: Sent[] } {
  const sent: Sent[] = []
  class CountingClient extends pg.Client {
    // biome-ignore lint/suspicious/noExplicitAny: the driver's query has many shapes, and all of them pass through
    override query(...args: any[]): any {
      const [asked, values] = args
      sent.push(
        typeof asked === 'string' ? { text: asked, values: values ?? [] } : { text: asked.text, values: asked.values ?? [] },
      )
      // biome-ignore lint/suspicious/noExplicitAny: as above
      return (super.query as any)(...args)
    }
  }
  const pool = new pg.Pool({ connectionString, max: 4, Client: CountingClient })
  return { pool, sent }
}
