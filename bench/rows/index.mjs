// Every group of rows, in the order of the report. A new one is a file of the same shape and a line here.
import backlog from './backlog.mjs'
import batch from './batch.mjs'
import blocked from './blocked.mjs'
import bulk from './bulk.mjs'
import bursts from './bursts.mjs'
import cold from './cold.mjs'
import coldKey from './cold-key.mjs'
import disk from './disk.mjs'
import documents from './documents.mjs'
import drain from './drain.mjs'
import explain from './explain.mjs'
import fleets from './fleets.mjs'
import gates from './gates.mjs'
import held from './held.mjs'
import history from './history.mjs'
import http from './http.mjs'
import idle from './idle.mjs'
import install from './install.mjs'
import keys from './keys.mjs'
import latency from './latency.mjs'
import limits from './limits.mjs'
import members from './members.mjs'
import memory from './memory.mjs'
import metrics from './metrics.mjs'
import pages from './pages.mjs'
import remote from './remote.mjs'
import single from './single.mjs'
import steps from './steps.mjs'
import sustained from './sustained.mjs'
import timers from './timers.mjs'

export const groups = [
  drain,
  timers,
  disk,
  sustained,
  bulk,
  single,
  keys,
  latency,
  held,
  backlog,
  bursts,
  blocked,
  limits,
  gates,
  coldKey,
  explain,
  steps,
  batch,
  history,
  metrics,
  idle,
  fleets,
  members,
  memory,
  http,
  pages,
  remote,
  install,
  cold,
  documents,
]
