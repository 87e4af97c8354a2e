import { withDatabase } from '../connect.js'
import { print, printForNow, takeBack } from '../print.js'

export interface ReencryptCommand {
  databaseUrl?: string
  batch?: string
  json?: boolean
}

export async function reencrypt({ databaseUrl, batch, json }: ReencryptCommand): Promise<void> {
  const done = await withDatabase(databaseUrl, 'to re-encrypt', (holdfast) =>
    holdfast.reencrypt({
      ...(batch === undefined ? {} : { batch: Number(batch) }),
      onBatch: ({ looked, encrypted }) => {
        takeBack()
        printForNow(`re-encrypted ${encrypted} of ${looked} payloads`)
      },
    }),
  )
  takeBack()
  const unreadable = Object.entries(done.unreadable)
  // They would be lost if somebody removed the old key after this.
  if (unreadable.length > 0) process.exitCode = 1
  if (json) return print(JSON.stringify(done, null, 2))
  print(`Read ${done.looked} payloads; re-encrypted ${done.encrypted} of them with the key ${done.key}.`)
  for (const [why, count] of unreadable) print(`${count} could not be re-encrypted: ${why}.`)
}
