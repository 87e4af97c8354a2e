import { camelCase } from '../spelling.js'

const isTime = /_(after|before)$/

/** A filter of the API as the library takes it: its names in camelCase, its times as dates. What was not given is left out. */
export function libraryFilter<Filter extends object>(asked: object): Filter {
  const given = Object.entries(asked).filter(([, value]) => value !== undefined)
  return Object.fromEntries(
    given.map(([name, value]) => [camelCase(name), isTime.test(name) ? new Date(value as string) : value]),
  ) as Filter
}
