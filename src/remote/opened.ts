import { type Privacy, UnreadableError } from '../privacy/privacy.js'
import type { RemoteClaim } from './claims.js'

interface Opened {
  read: { row: RemoteClaim; checkpoint: string | undefined }[]
  /** Those that cannot be decrypted here, and why. */
  unread: { row: RemoteClaim; problem: string }[]
}

/** Claimed jobs as their worker is to have them: it has no keys, the server has. */
export function opened(privacy: Privacy, rows: readonly RemoteClaim[], checkpoints: ReadonlyMap<string, string>): Opened {
  const all: Opened = { read: [], unread: [] }
  for (const row of rows) {
    try {
      const checkpoint = checkpoints.get(row.id)
      all.read.push({
        row: row.payload === null ? row : { ...row, payload: privacy.open(row.id, row.payload) },
        checkpoint: checkpoint && privacy.open(row.id, checkpoint, 'checkpoint'),
      })
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error
      all.unread.push({ row, problem: error.message })
    }
  }
  return all
}
