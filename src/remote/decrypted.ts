import { type Privacy, UnreadableError } from '../privacy/privacy.js'
import type { RemoteClaim } from './claims.js'

interface Decrypted {
  read: { row: RemoteClaim; checkpoint: string | undefined }[]
  /** Jobs that the worker cannot get, because this server cannot decrypt them or they have no body, with the reason. */
  unread: { row: RemoteClaim; problem: string }[]
}

/** Claimed jobs as a remote worker gets them: the server decrypts, because the worker has no keys. */
export function decrypted(
  privacy: Privacy,
  rows: readonly RemoteClaim[],
  types: ReadonlyMap<number, { name: string; encrypted: boolean }>,
  checkpoints: ReadonlyMap<string, string>,
): Decrypted {
  const all: Decrypted = { read: [], unread: [] }
  for (const row of rows) {
    if (row.payload === null) {
      all.unread.push({ row, problem: 'the body of this job is missing from the database' })
      continue
    }
    try {
      const checkpoint = checkpoints.get(row.id)
      const { name: type, encrypted } = types.get(row.type) as { name: string; encrypted: boolean }
      const of = { type, encrypted }
      all.read.push({
        row: { ...row, payload: privacy.decrypt(row.id, row.payload, 'payload', of) },
        checkpoint: checkpoint && privacy.decrypt(row.id, checkpoint, 'checkpoint', of),
      })
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error
      all.unread.push({ row, problem: error.message })
    }
  }
  return all
}
