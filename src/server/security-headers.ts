/** The page runs only its own files, cannot be framed, and sends no referrer. */
const securityHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** A browser that connected over TLS once never connects without it. */
const onlyOverTls = { 'strict-transport-security': 'max-age=31536000' }

export function headersOver(protocol: string): Record<string, string> {
  return protocol === 'https' ? { ...securityHeaders, ...onlyOverTls } : securityHeaders
}
