/** The shop is a project of a user: the packed package is installed in a copy of it, and what its page says is typed there. */
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Holdfast } from 'holdfast'
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { blocks } from '../support/docs-page.js'
import { makeEmptyDatabase } from '../support/empty-database.js'
import { eventually } from '../support/facts.js'
import { freePort } from '../support/free-port.js'
import { clearUp } from '../support/holdfast-program.js'
import { pack, repository, unbuiltCheckout } from '../support/packed.js'
import { Terminal } from '../support/terminals.js'

const left: (() => unknown)[] = []
afterEach(async () => {
  for (const end of left.splice(0).reverse()) await end()
})

const page = readFileSync(join(repository, 'examples', 'shop', 'README.md'), 'utf8')
const ofTheShop = /\/(node_modules|dist|out|package-lock\.json)$/
const cards = { slow: 'completed', good: 'completed', lost: 'failed', declined: 'failed' }

test('a shop that was written from the docs alone is compiled, tested, bundled and run on the package as npm installs it', async () => {
  const database = await makeEmptyDatabase()
  left.push(() => database.drop())
  const checkout = await unbuiltCheckout()
  left.push(() => checkout.remove())
  const { file: tarball } = await pack(checkout)
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-shop-')))
  left.push(() => clearUp(directory))
  chmodSync(directory, 0o755)
  cpSync(join(repository, 'examples', 'shop'), directory, { recursive: true, filter: (path) => !ofTheShop.test(path) })
  const terminal = () => new Terminal(directory)
  const [shop, server, worker, labels] = [terminal(), terminal(), terminal(), terminal()]
  const type = async (line: string) => {
    const { code, printed } = await shop.type(line)
    expect(code, `${line}\n${printed}`).toBe(0)
    return printed
  }
  for (const one of [shop, server, worker]) await one.type(`export DATABASE_URL="${database.connectionString}"`)

  const [first = [], programs = [], orders = []] = blocks(page, 'sh').map((block) => block.trim().split('\n'))
  const printed: Record<string, string> = {}
  for (const line of first) printed[line] = await type(line === 'npm install' ? `${line} ${tarball}` : line)
  expect(printed['npm test']).toMatch(/^# pass 5$/m)

  const ports = { server: await freePort(), health: await freePort() }
  const [serve, work, print] = programs as [string, string, string]
  await server.start(`${serve} --port ${ports.server} --grace 0s`, /server listening/)
  await worker.start(work.replace('7071', String(ports.health)), /worker started/)
  await eventually(async () => (await fetch(`http://127.0.0.1:${ports.health}/readyz`)).ok)
  const key = /hf_[\w-]+/.exec(await type('npx holdfast keys create labels --role worker'))?.[0]
  await labels.type(`export HOLDFAST_URL=http://127.0.0.1:${ports.server}`)
  await labels.type(`export HOLDFAST_KEY=${key}`)
  await labels.start(print, /worker started/)

  // The bundle alone: what is installed beside it is out of its reach.
  const elsewhere = join(directory, '..', `${directory.split('/').at(-1)}-bundle`)
  mkdirSync(elsewhere)
  left.push(() => clearUp(elsewhere))
  renameSync(join(directory, 'out', 'checkout.cjs'), join(elsewhere, 'checkout.cjs'))
  const wanted = ['acme', 'globex'].flatMap((tenant) =>
    Object.keys(cards).map((card) => ({ tenant, email: `${card}@example.com`, cents: 100, card })),
  )
  wanted.push({ tenant: 'acme', email: 'eve@nowhere.example', cents: 100, card: 'good' })
  const placed = (
    await type(`cd ${elsewhere} && node checkout.cjs ${wanted.map((order) => `'${JSON.stringify(order)}'`).join(' ')}`)
  )
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(placed.length).toBe(9)

  const holdfast = new Holdfast({ connectionString: database.connectionString })
  left.push(() => holdfast.close())
  for (const [n, { execution }] of placed.entries()) {
    const { status } = await eventually(
      async () => {
        const one = await holdfast.executions.get(execution)
        return one?.endedAt ? one : undefined
      },
      { within: 90_000 },
    )
    expect(status, JSON.stringify(wanted[n])).toBe(cards[wanted[n]?.card as keyof typeof cards])
  }
  const client = new pg.Client({ connectionString: database.connectionString })
  await client.connect()
  left.push(() => client.end())
  const ask = async (sql: string) => (await client.query(sql)).rows
  const jobs = (type: string) =>
    ask(`select status, count(*)::int as jobs from holdfast.jobs where type = '${type}' group by status order by status`)
  await eventually(
    async () => (await ask("select from holdfast.jobs where type = 'tell_support' and status = 'completed'")).length,
  )
  expect(await jobs('send_mail')).toEqual([
    { status: 'completed', jobs: 8 },
    { status: 'dead', jobs: 1 },
  ])
  expect(await jobs('tell_support')).toEqual([{ status: 'completed', jobs: 1 }])
  // Each order was paid once, and the lost ones got their money back; the declined ones never paid.
  expect(await ask('select refunded, count(*)::int from payments group by 1 order by 1')).toEqual([
    { refunded: false, count: 5 },
    { refunded: true, count: 2 },
  ])
  // What the page has its reader buy and look at.
  for (const line of orders) printed[line] = await type(line.replace('out/', `${elsewhere}/`))
  expect(printed['npx holdfast workflows ls']).toMatch(/order v1 +failed/)
  expect(printed['npx holdfast dlq ls']).toContain('eve@nowhere.example does not exist')
  // Of a tenant one mail at a time. Asked of the gate: attempts that ran one after the other may seem to overlap in history, by as long as the
  // statement that wrote the first one took to come to the database.
  expect(await holdfast.flow.gate('send_mail')).toMatchObject({ maxRunning: 4, maxRunningPerKey: 1, fair: true })
  await eventually(
    async () => (await ask("select from holdfast.jobs where type = 'count_orders' and status = 'completed'")).length > 1,
  )

  for (const one of [labels, worker, server]) expect(await one.terminate()).toBe(0)
}, 900_000)
