import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Tells the files of this run that `dataDir` has a cluster which nobody runs any more, as initdb made it. */
export function offerCluster(dataDir: string): void {
  process.env.HOLDFAST_TEST_CLUSTER = dataDir
}

/**
 * The name of a data directory for a PostgreSQL of one's own, with a cluster in it where the run has one to copy: that takes a tenth of
 * what initdb does. Without one (DATABASE_URL names the server, or the system has no `cp`) nothing is there yet, and startPostgres makes it.
 */
export async function newDataDir(): Promise<string> {
  const dataDir = join(tmpdir(), `holdfast-own-${randomBytes(6).toString('hex')}`)
  const prepared = process.env.HOLDFAST_TEST_CLUSTER
  if (prepared) await copyCluster(prepared, dataDir).catch(() => rm(dataDir, { recursive: true, force: true }))
  return dataDir
}

/** By `cp`, because the copy has to belong to the same user: root runs PostgreSQL as another one. */
export async function copyCluster(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to])
  for (const name of readdirSync(to)) {
    // The log of the first server is not this one's, and its port would be asked for by every copy.
    await rm(/^pg\d+$/.test(name) ? join(to, name, 'postmaster.opts') : join(to, name), { recursive: true, force: true })
  }
}
