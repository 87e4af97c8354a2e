/** What the tests use of it; the package brings no types. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'
  export default class Provider {
    constructor(
      issuer: string,
      options: {
        findAccount: (context: unknown, id: string) => Promise<{ accountId: string; claims: () => Promise<object> }>
        [option: string]: unknown
      },
    )
    callback(): RequestListener
  }
}
