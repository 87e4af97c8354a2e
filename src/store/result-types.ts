/**
 * How values leave the database on connections of our own. The driver's own table is shared by the whole program, and
 * programs do change it (bigints as numbers, timestamps as text); what Holdfast reads must not change with it. Whatever is
 * not named here stays text: ids, bigints, json. Timestamps leave as milliseconds since 1970, by the statement, so that no
 * DateStyle of the server matters.
 */
const readers: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [16, (text) => text === 't'], // boolean
  [21, Number], // smallint
  [23, Number], // integer
  [701, Number], // double precision
  [3802, (text) => JSON.parse(text)], // jsonb
])

const asItIs = (text: string): string => text

export const resultTypes = { getTypeParser: (oid: number) => readers.get(oid) ?? asItIs }
