import { makeTables, pool } from './database.ts'

await makeTables()
await pool.end()
