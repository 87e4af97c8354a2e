import { Holdfast } from 'holdfast'
import { type EmptyDatabase, makeEmptyDatabase } from './empty-database.js'

/** One that needs no quotes, and one that does. */
export const schemaNames: readonly [string, string] = ['jobs_eu', 'Jobs US-1']

export interface TwoSchemas {
  database: EmptyDatabase
  holdfast(name: string): Holdfast
  otherThan(name: string): string
  /** For both at once, as two teams would. */
  each<Result>(work: (name: string, holdfast: Holdfast) => Promise<Result>): Promise<Result[]>
  end(): Promise<void>
}

/** Two installations in one database, migrated at once. */
export async function makeTwoSchemas(names = schemaNames): Promise<TwoSchemas> {
  const database = await makeEmptyDatabase()
  const made = new Map(names.map((schema) => [schema, new Holdfast({ connectionString: database.connectionString, schema })]))
  const holdfast = (name: string) => made.get(name) as Holdfast
  const each: TwoSchemas['each'] = (work) => Promise.all(names.map((name) => work(name, holdfast(name))))
  await each((_, one) => one.migrate())
  return {
    database,
    holdfast,
    otherThan: (name) => names.find((one) => one !== name) as string,
    each,
    async end() {
      await each((_, one) => one.close())
      await database.drop()
    },
  }
}
