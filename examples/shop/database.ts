/** The shop's own tables, in the database that the jobs are in. */
import pg from 'pg'

export const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })

export async function makeTables(): Promise<void> {
  await pool.query(`
    create table if not exists orders (id serial primary key, tenant text not null, email text not null, cents int not null);
    create table if not exists payments (order_id int primary key references orders, cents int not null, refunded boolean not null default false)`)
}
