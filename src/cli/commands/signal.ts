import { HoldfastError } from '../../errors.js'
import { withDatabase } from '../connect.js'
import { print } from '../print.js'

export interface SignalOptions {
  databaseUrl?: string
  json?: boolean
  by?: string
}

export async function signal(id: string, name: string, payload: string | undefined, options: SignalOptions): Promise<void> {
  const value = payload === undefined ? null : parsed(payload)
  await withDatabase(options.databaseUrl, 'to send it to', (holdfast) =>
    holdfast.signal(id, name, value, options.by === undefined ? {} : { by: { by: options.by } }),
  )
  print(options.json ? JSON.stringify({ id, signal: name }) : `sent ${name} to ${id}`)
}

function parsed(payload: string): unknown {
  try {
    return JSON.parse(payload)
  } catch {
    const message = `${payload} is not JSON; a text has quotes of its own: '"yes"'`
    throw new HoldfastError('invalid_payload', message, { field: 'payload' })
  }
}
