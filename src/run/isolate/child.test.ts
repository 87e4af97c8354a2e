import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startChild } from './child.js'
import type { HostEnd } from './messages.js'

test('of a process whose heap is full only what its handlers wrote stands between the lines of the log, not the report of V8', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-child-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const entry = join(directory, 'entry.mjs')
  writeFileSync(
    entry,
    `process.stderr.write('said by a handler\\n'); const all = []; for (;;) all.push(new Array(1e5).fill(all.length))`,
  )
  let written = ''
  const spy = vi.spyOn(process.stderr, 'write').mockImplementation((data) => {
    written += data.toString()
    return true
  })
  onTestFinished(() => spy.mockRestore())
  const end = await new Promise<HostEnd>((ended) => {
    startChild([entry], { heapMb: 32, dataMb: null }, { message() {}, ended })
  })
  expect(end).toMatchObject({ how: 'out_of_memory' })
  expect(written).toBe('said by a handler\n')
}, 60_000)
