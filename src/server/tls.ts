import type { ServerOptions as HttpsOptions } from 'node:https'
import { createSecureContext, type TLSSocket } from 'node:tls'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type CertificateNames, subjectOf, subjectsOf } from '../access/certificate.js'
import type { HoldfastError } from '../errors.js'
import { Checker } from '../job/checker.js'
import { misconfigured } from '../job/refused.js'

/** PEM texts. */
export interface TlsOptions {
  /** The certificate of the server, in PEM. */
  cert: string | Buffer
  /** Its private key, in PEM. */
  key: string | Buffer
  /**
   * The authority that signs the certificates of services. With it, a client can send a certificate instead of a key.
   * @default none: no certificates of clients
   */
  ca?: string | Buffer
  /**
   * The service of a certificate, by its common name or fingerprint; other certificates need a registration.
   * @default {}
   */
  clients?: Readonly<Record<string, string>>
}

/** Options for Node's server. A client without a certificate may have a key, so the handshake refuses none. */
export function httpsOptions(tls: TlsOptions): HttpsOptions {
  const check = new Checker()
  check.known(tls, ['cert', 'key', 'ca', 'clients'], ['tls'])
  for (const field of ['cert', 'key'] as const) {
    if (!tls[field]) check.wrong(`tls.${field}`, 'is missing; a server with TLS has a certificate and its key, both in PEM')
  }
  if (tls.clients && !tls.ca) check.wrong('tls.ca', 'is missing; without it the server cannot verify client certificates')
  check.done('invalid_configuration', 'the server cannot speak TLS')
  const pems = { cert: tls.cert, key: tls.key, ...(tls.ca === undefined ? {} : { ca: tls.ca }) }
  try {
    createSecureContext(pems)
  } catch (error) {
    throw misconfigured(
      'tls',
      `cannot be used: ${(error as Error).message}; cert, key and ca must be PEM, and the key that of the certificate`,
    )
  }
  return { ...pems, ...(tls.ca === undefined ? {} : { requestCert: true, rejectUnauthorized: false }) }
}

/** The names of the client's certificate, if it has one signed by `ca`. */
export class ClientCertificates {
  readonly #services: ReadonlyMap<string, string>

  constructor(tls: TlsOptions | undefined) {
    this.#services = new Map(Object.entries(tls?.clients ?? {}).map(([subject, service]) => [subjectOf(subject), service]))
  }

  of(request: FastifyRequest): CertificateNames | undefined {
    const socket = request.raw.socket as Partial<TLSSocket>
    if (!socket.authorized || !socket.getPeerCertificate) return undefined
    const { subject, fingerprint256 } = socket.getPeerCertificate()
    if (!fingerprint256) return undefined
    const subjects = subjectsOf(subject?.CN, fingerprint256)
    // The fingerprint goes first, because it identifies one certificate; several can have the same name.
    const service = subjects.toReversed().map((one) => this.#services.get(one))
    return { subjects, service: service.find((one) => one !== undefined) }
  }
}

/** Refuses to listen on a network without TLS, where keys can be read, unless the configuration allows it. */
export function refuseOpenNetwork(app: FastifyInstance): void {
  const listen = app.listen.bind(app) as (...args: unknown[]) => Promise<string>
  app.listen = ((options: { host?: string; path?: string } = {}, ...rest: unknown[]) => {
    const { host = 'localhost', path } = options
    if (path !== undefined || isLoopback(host)) return listen(options, ...rest)
    return Promise.reject(inTheOpen(host))
  }) as typeof app.listen
}

export function inTheOpen(host: string): HoldfastError {
  return misconfigured(
    'tls',
    `is missing: on ${host || 'every address'} keys would cross the network in the open. Give a certificate ` +
      '(tls, or HOLDFAST_TLS_CERT and HOLDFAST_TLS_KEY), listen on 127.0.0.1 behind a proxy that has one, ' +
      'or say that it is meant (allowInsecure: true, or HOLDFAST_ALLOW_INSECURE=1)',
  )
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}
