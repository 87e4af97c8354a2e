import { isIP } from 'node:net'
import { HoldfastError } from '../errors.js'
import { isPublic } from './addresses.js'
import { refused } from './refused.js'

const longest = 2_000

/** Where a webhook goes. `allowed`: its host is named in the configuration, so it may have a private address and no TLS. */
export interface TargetUrl {
  readonly url: URL
  readonly allowed: boolean
}

/** Parses the address of a target, or says what is wrong with it. The host name is resolved when a webhook is sent. */
export function readTargetUrl(text: unknown, hosts: readonly string[]): TargetUrl {
  if (typeof text !== 'string' || text.length > longest || !URL.canParse(text)) {
    throw refused('url', `must be an address of at most ${longest} characters, such as https://hooks.example.com/holdfast`)
  }
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw refused('url', `is ${url.protocol}; webhooks are sent by https`)
  if (url.username !== '' || url.password !== '')
    throw refused('url', 'has a user name or password; leave it out, webhooks are signed instead')
  const host = bareHost(url)
  const allowed = hosts.some((one) => [host, `${host}:${url.port}`].includes(one))
  if (allowed) return { url, allowed }
  if (url.protocol === 'http:') throw refused('url', `is not https; only hosts named in alertHosts may be reached without TLS`)
  if (isIP(host) !== 0 && !isPublic(host))
    throw refused('url', `is ${host}, a private address; only hosts named in alertHosts may have one`)
  return { url, allowed }
}

/** Hosts by name, with a port to allow only that port. */
export function readHosts(hosts: readonly string[] = []): readonly string[] {
  if (Array.isArray(hosts) && hosts.every((one) => typeof one === 'string' && /^[\w.:-]{1,260}$/.test(one))) {
    return hosts.map((one) => one.toLowerCase())
  }
  const problem =
    'alertHosts must be a list of hosts, such as ["alerts.internal", "localhost:9000"]; without https:// and without paths'
  throw new HoldfastError('invalid_configuration', problem, { field: 'alertHosts' })
}

/** The host without the brackets of an IPv6 address. The URL parser has normalized it: no octal, no hexadecimal numbers. */
export function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').toLowerCase()
}
