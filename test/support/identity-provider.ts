import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'

/** Somebody who can sign in, as the provider knows them. */
export type Account = Readonly<Record<string, unknown>>

/** An OpenID Connect provider on this machine, whose people are named by what they type. */
export async function startIdentityProvider(accounts: Readonly<Record<string, Account>>) {
  const server = createServer()
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = { id: 'holdfast', secret: 'a-secret-that-is-long-enough' }
  return {
    issuer,
    client,
    /** Called once the address of the server is known, to which people are sent back. */
    serve(url: string) {
      const provider = new Provider(issuer, {
        clients: [{ client_id: client.id, client_secret: client.secret, redirect_uris: [`${url}/session/oidc/callback`] }],
        claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
        scopes: ['openid', 'email', 'profile', 'groups'],
        findAccount: async (_context, id) => ({ accountId: id, claims: async () => ({ sub: id, ...accounts[id] }) }),
        cookies: { keys: ['a key of this test'] },
        features: { devInteractions: { enabled: true } },
      })
      server.on('request', provider.callback())
    },
    async end() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** What a browser does of its own: it keeps cookies for each host and port, follows redirects, and sends forms that people fill in. */
export class Visitor {
  readonly cookies = new Map<string, Map<string, string>>()

  async get(address: string, form?: Record<string, string>): Promise<{ response: Response; at: URL; text: string }> {
    const url = new URL(address)
    const jar = this.cookies.get(url.host) ?? new Map<string, string>()
    this.cookies.set(url.host, jar)
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (value === '' || /Max-Age=0\b/i.test(cookie)) jar.delete(name)
      else jar.set(name, value)
    }
    const location = response.headers.get('location')
    if (location !== null && url.hash === '') return this.get(new URL(location, url).href)
    return { response, at: url, text: await response.text() }
  }

  /** From the dashboard to the provider and back, as the person of this name. Answers with the address at the end. */
  async signIn(from: string, login: string): Promise<URL> {
    return this.goOn(await this.get(`${from}/session/oidc`), from, login)
  }

  /** From the first page of the provider on. */
  async goOn(begun: { at: URL; text: string }, from: string, login: string): Promise<URL> {
    let page = begun
    for (const prompt of ['login', 'consent']) {
      const action = /<form[^>]* action="([^"]+)"/.exec(page.text)?.[1]
      if (action === undefined || page.at.href.startsWith(from)) return page.at
      page = await this.get(new URL(action, page.at).href, { prompt, login, password: 'anything' })
    }
    return page.at
  }
}
