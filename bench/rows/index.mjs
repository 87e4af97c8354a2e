// Every group of rows, in the order of the report. A new one is a file of the same shape and a line here.
import backlog from './backlog.mjs'
import blocked from './blocked.mjs'
import bulk from './bulk.mjs'
import cold from './cold.mjs'
import drain from './drain.mjs'
import explain from './explain.mjs'
import fleets from './fleets.mjs'
import gates from './gates.mjs'
import held from './held.mjs'
import history from './history.mjs'
import http from './http.mjs'
import idle from './idle.mjs'
import install from './install.mjs'
import latency from './latency.mjs'
import limits from './limits.mjs'
import memory from './memory.mjs'
import single from './single.mjs'
import steps from './steps.mjs'
import sustained from './sustained.mjs'

export const groups = [
  drain,
  sustained,
  bulk,
  single,
  latency,
  held,
  backlog,
  blocked,
  limits,
  gates,
  explain,
  steps,
  history,
  idle,
  fleets,
  memory,
  http,
  install,
  cold,
]
