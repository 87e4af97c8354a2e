import { refused } from '../job/refused.js'

const mark = 'sha256:'

/** What a certificate can be known by. */
export interface CertificateNames {
  /** Its common name, and its fingerprint. */
  subjects: readonly string[]
  /** The service that the configuration names for it, if it does. */
  service: string | undefined
}

/** Normalizes a common name, which stays as it is, or a fingerprint in any notation. */
export function subjectOf(given: string): string {
  const fits = typeof given === 'string' && /^[^\p{Cc}\p{Surrogate}]{1,200}$/u.test(given)
  if (!fits) throw refused('subject', 'must be the common name of a certificate, or its fingerprint (SHA-256)')
  const bare = given.replace(/^sha256:/i, '').replaceAll(':', '')
  if (/^[0-9a-f]{64}$/i.test(bare)) return mark + bare.toLowerCase()
  if (given.toLowerCase().startsWith(mark))
    throw refused('subject', 'is not a fingerprint; a SHA-256 fingerprint has 64 hexadecimal digits')
  return given
}

/** All the subjects of a certificate. A common name that looks like a fingerprint is left out, because it could be that of another certificate. */
export function subjectsOf(commonName: unknown, fingerprint: string): string[] {
  const own = subjectOf(fingerprint)
  const isName = typeof commonName === 'string' && commonName !== '' && !looksLikeFingerprint(commonName)
  return isName ? [commonName, own] : [own]
}

function looksLikeFingerprint(text: string): boolean {
  return text.toLowerCase().startsWith(mark) || /^[0-9a-f]{64}$/i.test(text.replaceAll(':', ''))
}
