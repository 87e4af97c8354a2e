import type { Configuration } from 'openid-client'
import { HoldfastError } from '../../errors.js'
import { isLocal, type OidcOptions } from './options.js'

type Library = typeof import('openid-client')

/** What has to come back from the provider unchanged, and what proves that the code is for this browser. */
export interface Pending {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

const timeoutS = 10

/** The provider through which people sign in: authorization code with PKCE, state and nonce, all checked by `openid-client`. */
export class Provider {
  readonly options: OidcOptions
  readonly #redirect: string
  #library: Promise<Library> | undefined
  #discovered: Promise<Configuration> | undefined

  constructor(options: OidcOptions) {
    this.options = options
    this.#redirect = `${options.url.replace(/\/$/, '')}/session/oidc/callback`
  }

  /** Called when the server starts, so that a missing package is found then. */
  async load(): Promise<Library> {
    this.#library ??= loadLibrary()
    return this.#library
  }

  /** Where the browser goes, and what is to be kept of it until it comes back. */
  async begin(): Promise<{ address: URL; pending: Pending }> {
    const library = await this.load()
    const [state, nonce, verifier] = [library.randomState(), library.randomNonce(), library.randomPKCECodeVerifier()]
    const address = library.buildAuthorizationUrl(await this.#discover(), {
      redirect_uri: this.#redirect,
      scope: this.options.scope ?? 'openid email profile groups',
      code_challenge: await library.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    })
    return { address, pending: { state, nonce, verifier } }
  }

  /** What the provider says about the person who came back; throws where anything does not fit. */
  async finish(search: string, pending: Pending): Promise<Record<string, unknown>> {
    const library = await this.load()
    const config = await this.#discover()
    const tokens = await library.authorizationCodeGrant(config, new URL(this.#redirect + search), {
      pkceCodeVerifier: pending.verifier,
      expectedState: pending.state,
      expectedNonce: pending.nonce,
      idTokenExpected: true,
    })
    const claims = tokens.claims() ?? { sub: '' }
    // Many providers keep the token small and tell groups only when asked.
    const more = config.serverMetadata().userinfo_endpoint
      ? await library.fetchUserInfo(config, tokens.access_token, claims.sub)
      : {}
    return { ...more, ...claims }
  }

  /** Once for a process; after a failure again. */
  async #discover(): Promise<Configuration> {
    const library = await this.load()
    const { issuer, clientId, clientSecret } = this.options
    this.#discovered ??= library.discovery(
      new URL(issuer),
      clientId,
      clientSecret,
      clientSecret === undefined ? library.None() : undefined,
      { timeout: timeoutS, ...(isLocal(issuer) && { execute: [library.allowInsecureRequests] }) },
    )
    this.#discovered.catch(() => {
      this.#discovered = undefined
    })
    return this.#discovered
  }
}

/** An optional peer. Imported inside of a `try`, so that bundlers leave it alone where it is not installed. */
async function loadLibrary(): Promise<Library> {
  try {
    return await import('openid-client')
  } catch (cause) {
    const message = 'sign-in through a provider needs the npm package openid-client: npm install openid-client@6'
    throw new HoldfastError('package_missing', message, { cause })
  }
}
