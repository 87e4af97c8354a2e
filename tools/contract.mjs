// The SQL contract of a release: every statement its programs send, with the types of its parameters and the columns of its answer. Programs
// of an old release go on sending them to a database that a newer one has migrated, so each release's contract is kept
// (test/store/contracts), and a test prepares all of them against the schema of today.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'

/** Writes the contract of the built package in `directory`. Uses the server of DATABASE_URL, or one that it starts and ends. */
export async function storeContract(directory, version) {
  const load = (file) => import(pathToFileURL(join(directory, 'dist', file)).href)
  const { allStatements } = await load('store/queries.js')
  const { makeScratchDatabase } = await load('testing/index.js')
  const server = await someServer(load)
  try {
    const scratch = await makeScratchDatabase(server.url)
    const client = new pg.Client({ connectionString: scratch.connectionString })
    await client.connect()
    const statements = await readContract(client, allStatements())
    await client.end()
    await scratch.drop()
    const file = `test/store/contracts/${version}.json`
    mkdirSync(dirname(join(directory, file)), { recursive: true })
    writeFileSync(join(directory, file), `${JSON.stringify({ version, statements }, null, 2)}\n`)
    return { file, statements: statements.length }
  } finally {
    await server.stop()
  }
}

async function someServer(load) {
  if (process.env.DATABASE_URL) return { url: process.env.DATABASE_URL, stop: async () => {} }
  const { startPostgres } = await load('dev/index.js')
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-contract-'))
  const postgres = await startPostgres({ dataDir })
  const stop = async () => {
    await postgres.stop('immediate')
    rmSync(dataDir, { recursive: true, force: true })
  }
  return { url: postgres.connectionString, stop }
}

/** What the server says of each statement when it is prepared, without running it: types of parameters, names and types of columns. */
export async function readContract(client, statements) {
  const names = await typeNames(client)
  const contract = []
  for (const statement of statements) contract.push(await contractOf(client, statement, names))
  return contract
}

/**
 * Every way in which the database no longer keeps to a contract. An answer must have the same columns in the same order: a column more would
 * be harmless to a program that reads by name, but a function that gets one is another function to the database.
 */
export async function breaches(client, contract) {
  const names = await typeNames(client)
  const found = []
  for (const promised of contract) {
    const kept = await contractOf(client, promised, names).catch((error) => error)
    if (kept instanceof Error) {
      found.push(`${promised.name}: ${kept.message}`)
      continue
    }
    for (const part of ['parameters', 'columns']) {
      const [was, is] = [promised[part].join(', '), kept[part].join(', ')]
      if (was !== is) found.push(`${promised.name}: its ${part} were (${was}) and are (${is})`)
    }
  }
  return found
}

async function contractOf(client, { name, text }, names) {
  const { parameters, columns } = await described(client, text)
  return {
    ...{ name, text },
    parameters: parameters.map((oid) => names.get(oid)),
    columns: columns.map(([column, oid]) => `${column} ${names.get(oid)}`),
  }
}

/** Parse and Describe of the protocol, as the driver's own query sends them, without the Bind and Execute that would run the statement. */
function described(client, text) {
  return new Promise((resolve, reject) => {
    const found = { parameters: [], columns: [] }
    const onParameters = ({ dataTypeIDs }) => {
      found.parameters = dataTypeIDs
    }
    client.query({
      submit(connection) {
        connection.once('parameterDescription', onParameters)
        connection.parse({ name: '', text, types: [] })
        connection.describe({ type: 'S', name: '' })
        connection.sync()
      },
      handleRowDescription({ fields }) {
        found.columns = fields.map(({ name, dataTypeID }) => [name, dataTypeID])
      },
      handleError(error, connection) {
        connection.removeListener('parameterDescription', onParameters)
        reject(error)
      },
      handleReadyForQuery() {
        resolve(found)
      },
    })
  })
}

async function typeNames(client) {
  const { rows } = await client.query('select oid::int4 as oid, format_type(oid, null) as name from pg_type')
  return new Map(rows.map(({ oid, name }) => [oid, name]))
}
