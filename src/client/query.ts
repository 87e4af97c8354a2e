/** The query of a request: what is undefined is left out, and a list is a parameter for each of its entries. */
export function queryOf(query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  const pairs = given.flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, String(one)]))
  return `?${new URLSearchParams(pairs)}`
}
