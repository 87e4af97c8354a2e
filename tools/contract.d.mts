import type pg from 'pg'

export interface StatementContract {
  name: string
  text: string
  parameters: string[]
  /** As `id uuid`. */
  columns: string[]
}

export function readContract(
  client: pg.Client,
  statements: readonly { name: string; text: string }[],
): Promise<StatementContract[]>
export function breaches(client: pg.Client, contract: readonly StatementContract[]): Promise<string[]>
