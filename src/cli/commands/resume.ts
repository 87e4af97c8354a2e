import { userInfo } from 'node:os'
import { HoldfastError } from '../../errors.js'
import { withDatabase } from '../connect.js'
import { print } from '../print.js'

export interface ResumeOptions {
  databaseUrl?: string
  json?: boolean
  why?: string
  confirm?: string
}

export async function resume(id: string, { databaseUrl, json, why, confirm }: ResumeOptions): Promise<void> {
  const who = { by: userInfo().username, from: 'cli', ...(why === undefined ? {} : { why }) }
  const moved = await withDatabase(databaseUrl, 'to resume it in', (holdfast) =>
    holdfast.resume(id, who, confirm === undefined ? {} : { confirm }),
  )
  if (!moved.done) throw new HoldfastError('conflict', `nothing was changed: ${moved.because}`)
  print(json ? JSON.stringify(moved) : `resumed ${id}; it is ${moved.status}`)
}
