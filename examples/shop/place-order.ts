import { pool } from './database.ts'
import { holdfast, order, sendMail } from './jobs.ts'

export interface Wanted {
  tenant: string
  email: string
  cents: number
  card: string
}

/** The order, the execution that charges and ships it, and the mail exist together or not at all. */
export async function placeOrder({ tenant, email, cents, card }: Wanted) {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const { rows } = await client.query<{ id: number }>(
      'insert into orders (tenant, email, cents) values ($1, $2, $3) returning id',
      [tenant, email, cents],
    )
    const id = (rows[0] as { id: number }).id
    const execution = await holdfast.start(order, { order: id, tenant, cents, card }, { tx: client })
    const mail = await holdfast.enqueue(
      sendMail,
      { to: email, subject: `Order ${id}` },
      { tx: client, concurrencyKey: tenant, idempotencyKey: `order-${id}` },
    )
    await client.query('commit')
    return { id, execution: execution.id, mail: mail.id }
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}
