import { HoldfastError } from '../errors.js'
import { refuseUnknown, wholeNumber } from '../job/refused.js'
import { isEncrypted, keyOf } from '../privacy/keyring.js'
import { type Privacy, UnreadableError } from '../privacy/privacy.js'
import type { EncryptedAs, Exchanged, StoredKind, StoredText } from '../store/privacy-store.js'
import { explained } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'
import { tryAgain } from '../store/try-again.js'

/** How `reencrypt` goes through what is stored. */
export interface ReencryptOptions {
  /**
   * How many payloads are read and written at once, 1 to 1,000.
   * @range 1 to 1,000
   * @default 100
   */
  atOnce?: number
  /**
   * Called after each so many with what was done so far, and about how many payloads there are to look at.
   * @default none
   */
  onProgress?(so: Reencrypted & { about: number }): void
}

/** What `reencrypt` found and did. */
export interface Reencrypted {
  /** The key everything is encrypted with now, apart from what is unreadable. */
  key: string
  looked: number
  encrypted: number
  /** How many payloads could not be decrypted and stay as they are, by reason. */
  unreadable: Record<string, number>
}

/** A plain input can be encrypted only when the tasks that would begin with it have payloads of their own. */
const kinds = ['payload', 'checkpoint', 'result', 'step', 'signal', 'taskPayload', 'input', 'taskResult'] as const
const first = '00000000-0000-0000-0000-000000000000'
/** Two of these may run at once on the same rows. */
const tries = 5

/** Some payloads at a time are replaced by one short statement, unless they have changed since they were read, so no job waits for it for long. */
export async function reencrypt(store: Store, privacy: Privacy, options: ReencryptOptions): Promise<Reencrypted> {
  refuseUnknown(options, ['atOnce', 'onProgress'])
  const { keyring } = privacy
  if (!keyring) {
    const problem = 'there are no encryption keys: give the option encryption, or set HOLDFAST_ENCRYPTION_KEYS'
    throw new HoldfastError('invalid_configuration', problem, { field: 'encryption' })
  }
  const limit = wholeNumber(options.atOnce ?? 100, 'atOnce', 1, 1_000)
  const done: Reencrypted = { key: keyring.current, looked: 0, encrypted: 0, unreadable: {} }
  try {
    const about = options.onProgress ? await store.privacy.roughly() : 0
    for (const what of kinds) {
      const ask = { limit, key: keyring.current, all: privacy.encrypts(false) }
      for (let after = first, more = true; more; ) {
        const rows = await tryAgain(tries, () => store.privacy.next(what, { ...ask, after }))
        const exchanged = rows.flatMap((row) => exchange(row, what, privacy, done))
        if (exchanged.length > 0) done.encrypted += await tryAgain(tries, () => store.privacy.put(what, exchanged))
        done.looked += rows.length
        more = rows.length === limit
        after = rows.at(-1)?.id ?? after
        options.onProgress?.({ ...structuredClone(done), about: Math.max(about, done.looked) })
      }
    }
    await reencryptSecrets(store, privacy, done)
    await reencryptWebhooks(store, privacy, limit, done)
    options.onProgress?.({ ...structuredClone(done), about: Math.max(about, done.looked) })
  } catch (error) {
    throw explained(error)
  }
  return done
}

/** The secrets of alert targets. */
async function reencryptSecrets(store: Store, privacy: Privacy, done: Reencrypted): Promise<void> {
  for (const target of await tryAgain(tries, () => store.privacy.targetSecrets())) {
    const { id, url, secret, old } = target
    const made = { url, secret: reencrypted(url, secret, privacy, done), old: old && reencrypted(url, old, privacy, done) }
    done.looked += 1
    if (made.secret === secret && made.old === old) continue
    if (await tryAgain(tries, () => store.privacy.putTargetSecrets(id, target, made))) done.encrypted += 1
  }
}

/** The secrets of the webhooks of jobs. Those of types are stored anew when a worker starts. */
async function reencryptWebhooks(store: Store, privacy: Privacy, limit: number, done: Reencrypted): Promise<void> {
  for (let after = first, more = true; more; ) {
    const rows = await tryAgain(tries, () => store.webhooks.secrets(after, limit))
    for (const { id, url, secrets } of rows) {
      const made = secrets.map((secret) => reencrypted(url, secret, privacy, done))
      done.looked += 1
      if (made.every((secret, at) => secret === secrets[at])) continue
      if (await tryAgain(tries, () => store.webhooks.putSecrets(id, secrets, made))) done.encrypted += 1
    }
    more = rows.length === limit
    after = rows.at(-1)?.id ?? after
  }
}

/** Returns the same text if it is encrypted with the current key already, or cannot be decrypted. */
function reencrypted(url: string, text: string, privacy: Privacy, done: Reencrypted): string {
  if (isEncrypted(text) && keyOf(text) === done.key) return text
  return unlessUnreadable(done, () => privacy.encryptSecret(url, privacy.decrypt(url, text, 'secret'))) ?? text
}

function exchange(row: StoredText, kind: StoredKind, privacy: Privacy, done: Reencrypted): Exchanged[] {
  const { id, type, text: was, what = kind as EncryptedAs } = row
  if (was === null) return []
  const job = id.slice(0, 36)
  const open = () => privacy.decrypt(job, was, what, { type, encrypted: true })
  const made = unlessUnreadable(done, () => privacy.encrypt(type, job, open(), what))
  return made === undefined ? [] : [{ id, was, made }]
}

function unlessUnreadable(done: Reencrypted, make: () => string): string | undefined {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof UnreadableError || error instanceof HoldfastError)) throw error
    done.unreadable[error.message] = (done.unreadable[error.message] ?? 0) + 1
    return undefined
  }
}
