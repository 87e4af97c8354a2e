// The handlers of a campaign, loaded by its workers and by the processes that run what is isolated. Where the witnesses are
// stands in the environment, which both have.
import { openLedger } from '../evidence/ledger.mjs'
import { reachSink } from '../evidence/sink.mjs'
import { makeWork } from './handler.mjs'
import { definitions } from './types.mjs'

const { CHAOS_LEDGER, CHAOS_SINK_PORT } = process.env
const witnesses = { note: openLedger(CHAOS_LEDGER).note, sink: reachSink(Number(CHAOS_SINK_PORT)) }

export const handlers = definitions.map((definition) => makeWork({ ...witnesses, definition }))
