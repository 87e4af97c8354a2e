import { lookup } from 'node:dns/promises'
import { type IncomingMessage, request as plain } from 'node:http'
import { request as secure } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { FatalError } from '../errors.js'
import { isPublic } from '../job/addresses.js'
import { bareHost, type TargetUrl } from '../job/target-url.js'

const withinMs = 10_000
const mostOfAnswer = 2_000

/**
 * Sends one request and waits until it is accepted. It resolves the host name once, checks every address and connects to one of these,
 * so that a name that resolves differently afterwards has no effect. It follows no redirect.
 */
export async function call(target: TargetUrl, body: string, headers: Record<string, string>, signal: AbortSignal): Promise<void> {
  const address = await checkedAddress(target)
  const { status, said } = await post(target.url, address, body, headers, signal)
  if (status >= 200 && status < 300) return
  const { origin } = target.url
  if (status >= 300 && status < 400) throw new FatalError(`${origin} answered ${status}; redirects are not followed`)
  if (status === 410) throw new FatalError(`${origin} answered 410: it wants no more of these`)
  throw new Error(`${origin} answered ${status}${said && `: ${said}`}`)
}

async function checkedAddress({ url, allowed }: TargetUrl): Promise<{ address: string; family: number }> {
  const host = bareHost(url)
  const family = isIP(host)
  const addresses = family === 0 ? await lookup(host, { all: true }) : [{ address: host, family }]
  const closed = addresses.find(({ address }) => !isPublic(address))
  if (closed && !allowed) {
    // Another worker may be configured otherwise, so this ends the attempt and not the job.
    throw new Error(
      `${host} is at ${closed.address}, a private address; only hosts named in alertHosts of the worker may have one`,
    )
  }
  return addresses[0] as { address: string; family: number }
}

function post(
  url: URL,
  at: { address: string; family: number },
  body: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<{ status: number; said: string }> {
  const toThatAddress: LookupFunction = (_host, { all }, found) => (all ? found(null, [at]) : found(null, at.address, at.family))
  const options = {
    ...{ method: 'POST', signal, lookup: toThatAddress, agent: false as const },
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'holdfast',
      ...headers,
    },
  }
  return new Promise((resolve, reject) => {
    const asked = (url.protocol === 'https:' ? secure : plain)(url, options, (response) => {
      const { statusCode: status = 0 } = response
      // The body of a 2xx answer is not read.
      const said = status >= 200 && status < 300 ? Promise.resolve('') : readSome(response)
      said.then((text) => resolve({ status, said: text }), reject).finally(() => asked.destroy())
    })
    const tooLong = setTimeout(
      () => asked.destroy(new Error(`${url.origin} did not answer within ${withinMs / 1_000} s`)),
      withinMs,
    )
    asked.on('error', reject)
    asked.on('close', () => clearTimeout(tooLong))
    asked.end(body)
  })
}

/** The beginning of an answer, which tells people why it was refused. The rest is not read. */
async function readSome(response: IncomingMessage): Promise<string> {
  let text = ''
  response.setEncoding('utf8')
  for await (const part of response) {
    text += part
    if (text.length >= mostOfAnswer) break
  }
  return text.slice(0, mostOfAnswer).trim()
}
