import { readFileSync } from 'node:fs'
import { Checker } from '../job/checker.js'
import { showValue } from '../job/failure.js'
import { misconfigured } from '../job/refused.js'
import { inTheOpen, isLoopback, type TlsOptions } from '../server/tls.js'
import { type Given, readPort, readSwitch, type Setting } from './given.js'

/** Where a server listens, and how. */
export interface Listening {
  host: string
  /** Undefined: the usual port. */
  port: number | undefined
  tls: TlsOptions | undefined
  allowInsecure: boolean
}

/** Reads all of it and throws everything that is wrong with it at once. */
export function readListening(given: Given): Listening {
  const check = new Checker()
  const host = given.of('HOLDFAST_HOST', '--host').value || '127.0.0.1'
  const allowInsecure = check.read(() => readSwitch(given.of('HOLDFAST_ALLOW_INSECURE', '--allow-insecure'), false), true)
  const port = check.read(() => readPort(given.of('PORT', '--port')), undefined)
  const before = check.count
  const tls = check.read(() => readTls(given), undefined)
  // The server would refuse it too, but only after everything else was started.
  if (!tls && check.count === before && !allowInsecure && !isLoopback(host)) check.read(() => refuseOpen(host), undefined)
  check.done('invalid_configuration', 'the environment has problems')
  return { host, port, tls, allowInsecure }
}

function refuseOpen(host: string): never {
  throw inTheOpen(host)
}

function readTls(given: Given): TlsOptions | undefined {
  const check = new Checker()
  const files = {
    cert: given.of('HOLDFAST_TLS_CERT', '--tls-cert'),
    key: given.of('HOLDFAST_TLS_KEY', '--tls-key'),
    ca: given.of('HOLDFAST_TLS_CA', '--tls-ca'),
  }
  const { cert, key, ca } = files
  const pems = Object.entries(files).map(([field, file]) => [field, check.read(() => readPem(file), undefined)] as const)
  const clients = check.read(() => readClients(given.of('HOLDFAST_TLS_CLIENTS', '--tls-clients')), undefined)
  if (!cert.value && key.value) check.wrong([cert.name], 'is missing; TLS needs a certificate and its key')
  if (cert.value && !key.value) check.wrong([key.name], 'is missing; TLS needs a certificate and its key')
  if (!cert.value && !key.value && ca.value) check.wrong([cert.name], 'is missing; client certificates need a server with TLS')
  check.done('invalid_configuration', 'the server cannot speak TLS')
  if (!cert.value) return undefined
  return { ...Object.fromEntries(pems.filter(([, pem]) => pem)), ...(clients && { clients }) } as unknown as TlsOptions
}

function readPem({ name, value }: Setting): Buffer | undefined {
  if (!value) return undefined
  try {
    return readFileSync(value)
  } catch (error) {
    throw misconfigured([name], `is ${showValue(value)}, which cannot be read: ${(error as Error).message}`)
  }
}

function readClients({ name, value }: Setting): Record<string, string> | undefined {
  if (!value) return undefined
  const pairs = value.split(',').map((pair) => pair.trim().split('='))
  if (pairs.every((pair) => pair.length === 2 && pair.every((part) => part !== ''))) return Object.fromEntries(pairs)
  throw misconfigured([name], `is ${showValue(value)}; it must be like billing.internal=billing,shop.internal=shop`)
}
