/** Places the orders of its arguments, each as JSON, and prints a line for each. It is bundled into one file that needs no node_modules. */
import { pool } from './database.ts'
import { holdfast } from './jobs.ts'
import { placeOrder } from './place-order.ts'

async function main(): Promise<void> {
  for (const wanted of process.argv.slice(2)) console.log(JSON.stringify(await placeOrder(JSON.parse(wanted))))
  await holdfast.close()
  await pool.end()
}

main()
