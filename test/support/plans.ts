import type pg from 'pg'

export interface PlanNode {
  type: string
  table: string | undefined
  index: string | undefined
}

interface JsonPlan {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  Plans?: JsonPlan[]
}

/** Every node of every plan that `work` ran on this client, those inside of functions too. Needs a superuser. */
export async function plansOf(client: pg.Client, work: () => Promise<unknown>): Promise<PlanNode[]> {
  const nodes: PlanNode[] = []
  const hear = ({ message = '' }: { message?: string | undefined }) => {
    const plan = /^duration: .* plan:\s(\{[\s\S]*\})\s*$/.exec(message)?.[1]
    if (plan) walk(JSON.parse(plan).Plan, nodes)
  }
  await client.query(`load 'auto_explain';
    set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on; set auto_explain.log_format = json;
    set auto_explain.log_level = notice; set client_min_messages = notice`)
  client.on('notice', hear)
  try {
    await work()
  } finally {
    client.off('notice', hear)
    await client.query('set auto_explain.log_min_duration = -1')
  }
  return nodes
}

function walk(plan: JsonPlan, into: PlanNode[]): void {
  into.push({ type: plan['Node Type'], table: plan['Relation Name'], index: plan['Index Name'] })
  for (const below of plan.Plans ?? []) walk(below, into)
}

/** What one statement cost: pages looked at, and bytes of WAL, everything inside of functions included. */
export async function costOf(
  client: pg.Client,
  text: string,
  values: unknown[] = [],
): Promise<{ pages: number; wal: number; pageImages: number; rows: number }> {
  const { rows } = await client.query(`explain (analyze, buffers, wal, timing off, format json) ${text}`, values)
  const plan = rows[0]['QUERY PLAN'][0].Plan
  return {
    pages: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
    wal: plan['WAL Bytes'],
    pageImages: plan['WAL FPI'],
    rows: plan['Actual Rows'],
  }
}
