import { bold, cyan, dim, green } from '../print.js'
import type { LocalDatabase } from './database.js'
import { Home } from './home.js'

export interface Facts {
  version: string
  seconds: string
  address: string
  adminKey: string
  database: LocalDatabase
  demo: boolean
  /** An unused id for the job in the first command. */
  freshId: string
  /** Whether psql is installed. */
  psql: boolean
}

/** What a newcomer sees. If you change it, start it once and look at it. */
export function welcome(facts: Facts): string {
  const { version, seconds, address, adminKey, database, demo } = facts
  const rows = [
    ['Dashboard', cyan(`${address}/#key=${adminKey}`)],
    ['API', address],
    ['Admin key', `${adminKey}  ${dim(`kept in ${Home.shown}/admin.key`)}`],
    ['Database', database.description],
    ['Log', `${Home.shown}/holdfast.log`],
  ]
  const steps = commands(facts).flatMap(([what, ...lines], at) => [
    `  ${at + 1}. ${what}`,
    ...lines.map((line) => `     ${bold(line)}`),
  ])
  return [
    '',
    `  ${green('●')} ${bold('Holdfast')} ${version} is running ${dim(`(ready in ${seconds} s)`)}`,
    '',
    ...rows.map(([name, value]) => `  ${dim((name as string).padEnd(12))} ${value}`),
    '',
    '  Try next, in another terminal:',
    '',
    ...steps,
    '',
    dim(demo ? '  Demo jobs come about once a second (HOLDFAST_DEMO=off leaves them out).' : '  The demo is off.'),
    dim('  Ctrl-C stops everything.'),
    '',
  ].join('\n')
}

type Step = [what: string, ...lines: string[]]

function commands({ address, database, demo, freshId, psql }: Facts): Step[] {
  const key = `-H "Authorization: Bearer $(cat ${Home.shown}/admin.key)"`
  const url = database.embedded ? `"$(cat ${Home.shown}/database.url)"` : '"$DATABASE_URL"'
  const job = `{"id": "${freshId}", "type": "demo_email", "payload": {"to": "you@example.com"}}`
  const first: Step[] = demo
    ? [
        ['Enqueue a job', `curl -s ${address}/jobs ${key} \\`, `  -H 'Content-Type: application/json' \\`, `  -d '${job}'`],
        ['See how the job ended', `curl -s ${address}/jobs/${freshId} \\`, `  ${key}`],
      ]
    : [
        ['Check its health', `curl -s ${address}/healthz`],
        ['Read what the dashboard reads', `curl -s ${address}/status ${key}`],
      ]
  const sql = 'select type, status, count(*) from holdfast.jobs group by 1, 2 order by 1, 2'
  const last: Step = psql
    ? ['Count every job in SQL', `psql ${url} -c \\`, `  '${sql}'`]
    : ['Print the database schema', 'npx holdfast migrate --sql']
  return [...first, last]
}
