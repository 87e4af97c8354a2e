// Loaded into the processes of way-to-start.mjs before anything else: notes when statements are sent and answered, when a call is
// heard and when an attempt starts, and writes it all down at the end.
import { AsyncLocalStorage } from 'node:async_hooks'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'

/** Holdfast's own; the bench has another one. */
const pg = createRequire(new URL('../dist/index.js', import.meta.url))('pg')

/** The monotonic clock that all processes of a machine share. */
const now = () => Number(process.hrtime.bigint()) / 1e6
const marks = []

const { query } = pg.Client.prototype
pg.Client.prototype.query = function (what, ...rest) {
  if (!this.isMarked) this.on('notification', () => marks.push({ what: 'called', at: now() }))
  this.isMarked = true
  const name = (what?.text ?? String(what)).split('\n')[0].replace('-- ', '')
  const at = now()
  const answer = query.call(this, what, ...rest)
  answer?.then?.(
    ({ rowCount }) => marks.push({ what: name, at, until: now(), rows: rowCount }),
    () => {},
  )
  return answer
}

const { run } = AsyncLocalStorage.prototype
AsyncLocalStorage.prototype.run = function (inside, ...rest) {
  if (inside?.job) marks.push({ what: 'started', at: now() })
  return run.call(this, inside, ...rest)
}

process.on('exit', () => {
  if (isMainThread) writeFileSync(join(process.env.HOLDFAST_MARKS, `${process.pid}.json`), JSON.stringify(marks))
})
