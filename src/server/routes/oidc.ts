import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sessionWaysAnswer } from '../../api/session.js'
import { HoldfastError } from '../../errors.js'
import type { Logger } from '../../worker/logger.js'
import type { Callers } from '../callers.js'
import { Guesses } from '../guesses.js'
import { type OidcOptions, personOf, rolesOf } from '../oidc/options.js'
import { type Pending, Provider } from '../oidc/provider.js'
import { clearPending, pendingOf, setPending, setSession } from '../session-cookie.js'

/** Sign-in of people through the provider, where one is set. The page is told by the address to which it is sent back how that went. */
export function oidcRoutes(app: FastifyInstance, callers: Callers, options: OidcOptions | undefined, log: Logger): void {
  const provider = options && new Provider(options)
  const guesses = new Guesses()
  if (provider) app.addHook('onReady', async () => void (await provider.load()))

  app.get(
    '/session/ways',
    { schema: { summary: 'How people can log in here', response: { 200: sessionWaysAnswer } } },
    async () => ({ key: true, oidc: provider !== undefined }),
  )

  const leadTo = (reply: FastifyReply, address: string) => reply.header('cache-control', 'no-store').redirect(address, 303)
  const back = (reply: FastifyReply, how: string) => leadTo(reply, `${options?.url.replace(/\/$/, '')}/${how}`)
  const failed = (error: Error & { code?: string }) =>
    log.warn({ error: error.message, code: error.code }, 'a person could not sign in')
  const redirects = { 303: {} }
  app.get(
    '/session/oidc',
    { schema: { summary: 'To the provider through which people sign in', response: redirects } },
    async (request, reply) => {
      const begun = await itsProvider(provider).begin().catch(failed)
      if (!begun) return back(reply, '#sign-in=failed')
      setPending(request, reply, Buffer.from(JSON.stringify(begun.pending)).toString('base64url'))
      return leadTo(reply, begun.address.href)
    },
  )

  const returning = { summary: 'Back from the provider, with a session as a cookie', response: redirects }
  app.get('/session/oidc/callback', { schema: returning }, async (request, reply) => {
    const { options } = itsProvider(provider)
    clearPending(request, reply)
    const pending = readPending(request)
    if (!pending) return back(reply, '#sign-in=expired')
    // Each costs a request to the provider, and whoever has no code of it can send any number, also with a state that was right once.
    guesses.begin(request.id, request.ip)
    const { search } = new URL(request.url, 'http://localhost')
    const claims = await itsProvider(provider).finish(search, pending).catch(failed)
    if (!claims) return back(reply, '#sign-in=failed')
    guesses.right(request.id, request.ip)
    const [person, roles] = [personOf(claims, options), rolesOf(claims, options)]
    if (person === undefined) return back(reply, '#sign-in=nameless')
    if (roles.length === 0) return back(reply, '#sign-in=no-role')
    const { token } = await callers.openSessionOf(person, roles, request.ip)
    setSession(request, reply, token)
    return back(reply, '')
  })
}

function itsProvider(provider: Provider | undefined): Provider {
  if (provider) return provider
  throw new HoldfastError('not_found', 'this server has no provider for sign-in; log in with a key')
}

/** Undefined where the cookie is gone, as it is ten minutes later, or is not what was set. */
function readPending(request: FastifyRequest): Pending | undefined {
  try {
    const read = JSON.parse(Buffer.from(pendingOf(request) ?? '', 'base64url').toString()) as Pending
    return [read.state, read.nonce, read.verifier].every((one) => typeof one === 'string' && one !== '') ? read : undefined
  } catch {
    return undefined
  }
}
