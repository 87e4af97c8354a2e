import { HoldfastError } from '../../errors.js'
import type { Explanation } from '../../flow/explain.js'
import type { Gate } from '../../flow/explain-gates.js'
import { isJobId } from '../../job/id.js'
import { withDatabase } from '../connect.js'
import { bold, dim, print } from '../print.js'
import { explainNamed } from './schedules.js'

export interface ExplainOptions {
  databaseUrl?: string
  json?: boolean
}

export async function explain(id: string, options: ExplainOptions): Promise<void> {
  if (!isJobId(id)) return explainNamed(id, options)
  const explanation = await withDatabase(options.databaseUrl, 'to look into', (holdfast) => holdfast.explain(id))
  if (!explanation) {
    throw new HoldfastError('not_found', `there is no job ${id}; it never existed, or is no longer kept`)
  }
  print(options.json ? JSON.stringify({ id, ...explanation }, null, 2) : inWords(id, explanation))
}

function inWords(id: string, { type, status, gates }: Explanation): string {
  const [first, ...others] = gates as [Gate, ...Gate[]]
  const lines = [`${bold(id)}  ${type}  ${status.replaceAll('_', ' ')}`, '', ...described(first)]
  if (others.length > 0) lines.push('', dim('and then:'))
  for (const gate of others) lines.push(...described(gate))
  return lines.join('\n')
}

function described({ why, opens, heldBy = [] }: Gate): string[] {
  const holders = heldBy.map((job) => `    ${dim(job)}`)
  return [`  ${why}`, ...holders, `  ${dim('opens with')} ${opens}`]
}
