import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { ArchiveDay } from '../upkeep/archive.js'

export function archiveName(day: string): string {
  return `history-${day.replaceAll('-', '')}.ndjson.gz`
}

/**
 * Writes a day as one file, a job a line. The file has its name only when all of it is on disk, so that one with a name is whole. What a run before this
 * left half written is removed.
 */
export async function writeArchive(directory: string, { day, jobs }: ArchiveDay): Promise<void> {
  await mkdir(directory, { recursive: true })
  const name = archiveName(day)
  const part = join(directory, `${name}.${process.pid}.part`)
  for (const left of await readdir(directory)) {
    if (left.startsWith(`${name}.`) && left.endsWith('.part')) await rm(join(directory, left))
  }
  // For nobody else: payloads stand in it.
  const file = await open(part, 'wx', 0o600)
  try {
    await pipeline(Readable.from(lines(jobs)), createGzip(), async (packed: AsyncIterable<Buffer>) => {
      for await (const chunk of packed) await file.writeFile(chunk)
    })
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(part, join(directory, name))
  await syncDirectory(directory)
}

async function* lines(jobs: ArchiveDay['jobs']): AsyncIterable<string> {
  for await (const { line } of jobs) yield `${line}\n`
}

/** Until then a crash of the machine may undo the rename. Windows opens no directories. */
async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  const opened = await open(directory, 'r')
  try {
    await opened.sync()
  } finally {
    await opened.close()
  }
}
