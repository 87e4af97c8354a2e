import { closeSync, openSync, renameSync, statSync, writeSync } from 'node:fs'
import { wallMs } from '../../clock.js'
import type { LogLevel } from '../../job/log-level.js'
import { jsonLines } from '../../worker/json-lines.js'
import type { Logger } from '../../worker/logger.js'

const mostBytes = 5_000_000

/**
 * Writes the log of worker and server as JSON lines into a file, because the screen is for a person. A full file is renamed and a new one
 * begun, so that there are at most two, because nobody rotates the logs of a program they tried out once.
 */
export function logToFile(path: string, level: LogLevel, onOpen: () => void): Logger {
  let file = open()
  let bytes = statSync(path).size
  function open(): number {
    const opened = openSync(path, 'a', 0o600)
    onOpen()
    return opened
  }
  const write = (line: string): void => {
    if (bytes > mostBytes) {
      closeSync(file)
      renameSync(path, `${path}.1`)
      file = open()
      bytes = 0
    }
    bytes += writeSync(file, `${line}\n`)
  }
  // People read it as often as programs do, so levels and times are written as text and not as numbers.
  const time = () => new Date(wallMs()).toISOString()
  return jsonLines(level, { level: (name) => name, time, base: { pid: process.pid } }, write)
}
