import { isIP } from 'node:net'
import { Checker } from '../job/checker.js'
import { showValue } from '../job/failure.js'
import { misconfigured } from '../job/refused.js'
import type { Logger } from '../worker/logger.js'
import type { Worker } from '../worker/worker.js'
import { checkAdminKey } from './callers.js'
import { checkOidc, type OidcOptions } from './oidc/options.js'
import { checkPrefix } from './prefix.js'
import { checkReading, type ReadingOptions } from './reading.js'
import { httpsOptions, type TlsOptions } from './tls.js'
import { checkTraceUrl } from './trace-url.js'

/** What a server is made with. */
export interface ServerOptions {
  /**
   * This key allows everything. Make the keys of services with it, or with `holdfast keys create`. At least 20 characters; the same on
   * every server of one address.
   * @range 20 characters and more
   * @default none: only keys in the database are accepted
   */
  adminKey?: string
  /**
   * The path that the server is under, such as `/holdfast`. Requests without it are answered too, because some proxies remove it.
   * @range a path without a slash at its end
   * @default ''
   */
  prefix?: string
  /**
   * Addresses or networks of proxies, such as `10.0.0.0/8`, whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed. Without it all
   * who come through a proxy have its address, also where wrong keys are counted.
   * @range addresses, or networks as 10.0.0.0/8
   * @default []
   */
  trustProxy?: readonly string[]
  /**
   * When it fires, `/readyz` and `/healthz` answer 503, so that load balancers send no more. Requests are answered until the server closes.
   * @default none
   */
  stopping?: AbortSignal
  /**
   * The worker in this process, if there is one: `GET /healthz` then answers for it too.
   * @default none
   */
  worker?: Worker
  /**
   * With it the server speaks HTTPS.
   * @default none: it speaks HTTP
   */
  tls?: TlsOptions
  /**
   * True to listen on a network without TLS. Otherwise a server without `tls` listens on loopback only.
   * @default false
   */
  allowInsecure?: boolean
  /**
   * Limits of requests that only read, which have connections of their own.
   * @default { connections: 4, within: '2s', watches: 500 }
   */
  reading?: ReadingOptions
  /**
   * Sign-in of people through an OpenID Connect provider.
   * @default none: people log in with keys
   */
  oidc?: OidcOptions
  /**
   * Where the dashboard links the trace of a job to, with `{trace}` for its id: `https://traces.example.com/trace/{trace}`.
   * @range an http or https address with {trace} behind its host
   * @default none: the id is shown
   */
  traceUrl?: string
  /**
   * Where unexpected errors go.
   * @default JSON lines on standard error, from HOLDFAST_LOG_LEVEL (info) on
   */
  logger?: Logger
}

/** What a server that is mounted in another one is made with: how it listens is the other one's business. */
export type MountOptions = Omit<ServerOptions, 'tls' | 'allowInsecure'>

const mountable = ['adminKey', 'prefix', 'trustProxy', 'stopping', 'worker', 'reading', 'oidc', 'traceUrl', 'logger']

export function checkServerOptions(options: ServerOptions): void {
  checkOptions(options, [...mountable, 'tls', 'allowInsecure'], 'the server cannot start')
}

export function checkMountOptions(options: MountOptions): void {
  checkOptions(options, mountable, 'the server cannot be mounted')
}

function checkOptions(options: ServerOptions, known: readonly string[], heading: string): void {
  const check = new Checker()
  check.known(options, known)
  check.read(() => options.adminKey !== undefined && checkAdminKey(options.adminKey), undefined)
  check.read(() => checkPrefix(options.prefix ?? '', 'prefix'), '')
  check.read(() => checkProxies(options.trustProxy ?? [], 'trustProxy'), [])
  check.read(() => checkReading(options.reading), undefined)
  check.read(() => checkOidc(options.oidc), undefined)
  check.read(() => options.traceUrl !== undefined && checkTraceUrl(options.traceUrl, 'traceUrl'), undefined)
  check.read(() => options.tls && httpsOptions(options.tls), undefined)
  check.done('invalid_configuration', heading)
}

/** An address, or the first address of a network and the length of its prefix. */
export function checkProxies(proxies: readonly string[], field: string): readonly string[] {
  const wrong = Array.isArray(proxies) ? proxies.find((one) => !isNetwork(one)) : proxies
  if (wrong === undefined) return proxies
  throw misconfigured(field, `has ${showValue(wrong)}; it must be addresses or networks, such as 10.0.0.7 or 10.0.0.0/8`)
}

function isNetwork(text: unknown): boolean {
  const [address = '', length, ...more] = String(text).split('/')
  const version = isIP(address)
  const fits = length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= (version === 4 ? 32 : 128))
  return version > 0 && fits && more.length === 0
}
