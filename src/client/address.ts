import type { Checker } from '../job/checker.js'
import { wholeNumber } from '../job/refused.js'

/** Where a server is, and the key it is sent. */
interface Address {
  url: string | undefined
  key: string | undefined
  timeoutMs: number
}

/** The address as requests go to it. Says all that is wrong with it, and never repeats a key, not even one that cannot be sent. */
export function checkAddress(
  check: Checker,
  { url = '', key = '', timeoutMs }: Address,
  create: string,
): { url: string; key: string } {
  if (!URL.canParse(url)) check.wrong('url', 'must be the address of a server, such as https://jobs.example.com')
  if (!key) check.wrong('key', `is missing: create one with ${create}`)
  else if (!/^[\x21-\x7e]+$/.test(key)) {
    check.wrong(
      'key',
      'has a space, a line break or another character that no key has; pass what holdfast keys create printed, and nothing else',
    )
  }
  check.read(() => wholeNumber(timeoutMs, 'timeoutMs', 1, 86_400_000), 1)
  return { url: url.replace(/\/+$/, ''), key }
}
