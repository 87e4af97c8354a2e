import { closeSync, openSync, renameSync, statSync, writeSync } from 'node:fs'
import { pino } from 'pino'
import type { Logger } from '../../worker/logger.js'

const mostBytes = 5_000_000

/**
 * The worker's and the server's log, as JSON lines in a file: beside the screen, which is for a person. It is kept small by
 * starting over, with the last full one beside it, because nobody rotates the logs of a program they tried out once.
 */
export function logToFile(path: string, level: string, onOpen: () => void): Logger {
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
    bytes += writeSync(file, line)
  }
  return pino(
    {
      level,
      base: { pid: process.pid },
      // Read by people as often as by programs: words and times instead of numbers.
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write },
  )
}
