import { fsyncSync, openSync, writeSync } from 'node:fs'

/** Appends lines that are on disk when the call returns, so that a process killed right after it has still said them. */
export function openLedgerFile(path) {
  const file = openSync(path, 'a')
  return (entry) => {
    writeSync(file, `${JSON.stringify(entry)}\n`)
    fsyncSync(file)
  }
}
