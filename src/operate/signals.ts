import { type Actor, checkedActor } from '../job/actor.js'
import { checkJobId } from '../job/id.js'
import { encodePayload } from '../job/payload.js'
import { refuseUnknown } from '../job/refused.js'
import { stepName } from '../job/steps.js'
import type { Privacy } from '../privacy/privacy.js'
import { explained } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'
import { asQueryable, type CallerTransaction } from '../store/transaction.js'

/** How a signal is sent. */
export interface SignalOptions {
  /**
   * The caller's transaction: the signal is sent when it commits.
   * @default none; it is sent at once
   */
  tx?: CallerTransaction
  /**
   * Who sends it.
   * @default the user of the database
   */
  by?: Actor
}

/** Sends a signal to a job that has not ended. Stored once this resolves, or with `tx` once that commits. */
export async function sendSignal(
  store: Store,
  privacy: Privacy,
  { id, name, payload, options }: { id: string; name: string; payload: unknown; options: SignalOptions },
): Promise<void> {
  checkJobId(id)
  refuseUnknown(options, ['tx', 'by'])
  const who = options.by === undefined ? { by: null, why: null, from: null } : checkedActor(options.by)
  const text = encodePayload(payload === undefined ? null : payload)
  const tx = options.tx === undefined ? undefined : asQueryable(options.tx)
  try {
    const type = privacy.keyring ? await store.inspect.steps.typeOf(id, tx) : undefined
    const stored = type && privacy.encrypts(type.encrypted) ? privacy.encrypt(type.type, id, text, 'signal') : text
    await store.inspect.steps.signal(id, stepName(name, 'name'), stored, who, tx)
  } catch (error) {
    throw explained(error)
  }
}
