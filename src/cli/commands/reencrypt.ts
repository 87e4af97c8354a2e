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
        printForNow(`${encrypted} of ${looked} encrypted anew`)
      },
    }),
  )
  takeBack()
  const unreadable = Object.entries(done.unreadable)
  // Whoever takes the old key away after this would lose them.
  if (unreadable.length > 0) process.exitCode = 1
  if (json) return print(JSON.stringify(done, null, 2))
  print(`Looked at ${done.looked}; ${done.encrypted} were encrypted anew, with the key ${done.key}.`)
  for (const [why, count] of unreadable) print(`${count} stay as they are: ${why}.`)
}
