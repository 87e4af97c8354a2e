import { Checker } from '../../job/checker.js'
import { showValue } from '../../job/failure.js'

/** Sign-in of people through an OpenID Connect provider, beside keys. It needs the npm package `openid-client`. */
export interface OidcOptions {
  /** The address of the provider, such as `https://login.example.com/realms/main`. */
  issuer: string
  /** How the provider knows this server. */
  clientId: string
  /**
   * The secret that belongs to it.
   * @default none: a public client, with PKCE alone
   */
  clientSecret?: string
  /** The address under which people open the dashboard, with its prefix. The provider has to allow `<url>/session/oidc/callback`. */
  url: string
  /** Which roles a group gives, as `{ 'on-call': ['operator'] }`; under `*` those of everybody who signs in. Nobody else gets in. */
  roles: Readonly<Record<string, readonly string[]>>
  /**
   * The claim that says who somebody is, for the audit log.
   * @default 'email'
   */
  nameClaim?: string
  /**
   * The claim with the groups.
   * @default 'groups'
   */
  groupsClaim?: string
  /**
   * What is asked of the provider.
   * @default 'openid email profile groups'
   */
  scope?: string
}

const fields = ['issuer', 'clientId', 'clientSecret', 'url', 'roles', 'nameClaim', 'groupsClaim', 'scope']

/** Finds every problem, before the server starts. `named`: how whoever gave an option calls it. */
export function checkOidc(options: OidcOptions | undefined, named = (field: keyof OidcOptions): string => `oidc.${field}`): void {
  if (options === undefined) return
  const check = new Checker()
  check.known(options, fields, ['oidc'])
  for (const field of ['issuer', 'url'] as const) {
    if (!isSafeAddress(options[field])) {
      check.wrong([named(field)], `is ${showValue(options[field])}; it must be an https address, or http on this machine`)
    }
  }
  if (typeof options.clientId !== 'string' || options.clientId === '') check.wrong([named('clientId')], 'is missing')
  const roles = Object.entries(options.roles ?? {})
  if (roles.length === 0) check.wrong([named('roles')], "is empty, so nobody could sign in; such as { 'on-call': ['operator'] }")
  for (const [group, given] of roles) {
    if (!Array.isArray(given) || given.length === 0 || given.some((role) => typeof role !== 'string')) {
      check.wrong([named('roles')], `has ${showValue(given)} for ${group}; it must be a list of names of roles`)
    }
  }
  check.done('invalid_configuration', 'people cannot sign in through the provider')
}

/** In the clear only where nobody can listen. */
function isSafeAddress(text: unknown): boolean {
  if (typeof text !== 'string' || !URL.canParse(text)) return false
  const { protocol, search, hash } = new URL(text)
  return (protocol === 'https:' || isLocal(text)) && search === '' && hash === ''
}

export function isLocal(address: string): boolean {
  const { protocol, hostname } = new URL(address)
  return protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
}

/** The roles of somebody with these claims; none: they may not come in. */
export function rolesOf(claims: Readonly<Record<string, unknown>>, { roles, groupsClaim = 'groups' }: OidcOptions): string[] {
  const claimed = claims[groupsClaim]
  const groups = (Array.isArray(claimed) ? claimed : [claimed]).filter((group) => typeof group === 'string')
  return [...new Set(['*', ...groups].flatMap((group) => (Object.hasOwn(roles, group) ? (roles[group] ?? []) : [])))].sort()
}

/**
 * Who it is, for the audit log and as owner of jobs. The name of a service has no colon, so that no person can have that of a service.
 * Undefined: the claims do not say, or the address has not been verified.
 */
export function personOf(claims: Readonly<Record<string, unknown>>, { nameClaim = 'email' }: OidcOptions): string | undefined {
  const name = claims[nameClaim]
  if (typeof name !== 'string' || !/^[^\s\p{C}]{1,90}$/u.test(name)) return undefined
  // Some providers write their truth values as texts.
  const unverified = claims.email_verified === false || claims.email_verified === 'false'
  return nameClaim === 'email' && unverified ? undefined : `person:${name}`
}
