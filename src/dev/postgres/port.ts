import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'

export const host = '127.0.0.1'

// Below the range from which systems take ports for outgoing connections, so that ours is still free after a restart.
const first = 15_432
const span = 2_000

/**
 * The port of the last start, which Postgres itself keeps in postmaster.opts; at first one that follows from the path, so that two
 * projects rarely want the same. If it is taken, the next free one.
 */
export async function choosePort(clusterDir: string): Promise<number> {
  const lastStart = await readFile(join(clusterDir, 'postmaster.opts'), 'utf8').catch(() => '')
  const fromPath = first + (createHash('sha256').update(clusterDir).digest().readUInt32BE() % span)
  const wanted = Number(/"-p" "(\d+)"/.exec(lastStart)?.[1] ?? fromPath)
  for (let port = wanted; port < wanted + span && port < 65_536; port++) {
    if (await isFree(port)) return port
  }
  throw new Error(`no port between ${wanted} and ${wanted + span} is free on ${host}`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, host, () => probe.close(() => resolve(true)))
  })
}
