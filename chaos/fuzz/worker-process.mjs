// A worker in a process that is killed sooner or later. Its argument is JSON: { url, options, uses }. It tells its parent what its handlers do.
import { Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { now } from '../evidence/ledger.mjs'
import { makeTypes } from './types.mjs'

const { url, options, uses } = JSON.parse(process.argv[2])
const silent = { info() {}, warn() {}, error() {}, debug() {} }
const note = (entry) => process.send({ at: now(), ...entry })
process.on('disconnect', () => process.exit(1))
const holdfast = new Holdfast({ connectionString: url, connections: 4 })
await startWorker(holdfast, makeTypes({ note, worker: 'killed', uses }), { ...options, name: 'killed', logger: silent })
note({ kind: 'ready' })
