import { readFileSync } from 'node:fs'
import type { Schema } from '../api/schema.js'
import { check } from '../server/validate.js'
import { parsed } from './cli.js'
import { UsageError } from './exit.js'

/** The JSON in a file, or on standard input where the file is -, in the fields of the API: another field is refused here as the server would refuse it. */
export function readJsonFile<Body>(path: string, schema: Schema): Body {
  let text: string
  try {
    text = readFileSync(path === '-' ? 0 : path, 'utf8')
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as Error).message}`, '--file')
  }
  const body = parsed(text, path)
  check(schema, body, 'body')
  return body as Body
}
