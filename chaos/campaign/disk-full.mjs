// The disk of the database is full for a while: enqueues fail and say so, and afterwards everything goes on.
import { spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { durable, startServer } from '../server.mjs'
import { Field } from './field.mjs'

const settings = { ...durable, max_wal_size: '64MB', min_wal_size: '32MB', shared_buffers: '32MB' }

export const diskFull = {
  name: 'campaigns/disk-full',
  async cannotRun() {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'a small disk can be made only by root on Linux'
    const place = mkdtempSync(join(tmpdir(), 'holdfast-mount-'))
    const mounted = mount(place, '1m')
    if (mounted) unmount(place)
    rmSync(place, { recursive: true, force: true })
    return mounted ? undefined : 'this system does not let root mount a tmpfs'
  },
  async run(seed, report) {
    const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-small-disk-'))
    if (!mount(dataDir, '300m')) throw new Error('the small disk could not be mounted')
    const leave = () => unmount(dataDir)
    process.once('exit', leave)
    let server
    let field
    try {
      server = await startServer({ settings, dataDir })
      field = await Field.open(server)
      await Promise.all([field.startWorker(), field.startWorker(), field.startProducer(seed, 10), field.startCanceller(seed)])
      const facts = []
      if (!(await field.progress(60))) facts.push('I14: nothing went on before the disk was full')
      await field.strike('disk-full', () => fillAndFree(field, dataDir), undefined, report)
      if (!(await field.progress(60))) facts.push('I14: nothing went on after the disk was freed')
      return await field.finish(facts)
    } finally {
      await field?.close()
      await server?.stop().catch(() => {})
      process.off('exit', leave)
      unmount(dataDir)
      rmSync(dataDir, { recursive: true, force: true })
    }
  },
}

async function fillAndFree(field, directory) {
  const filler = join(directory, 'filler')
  const block = Buffer.alloc(1 << 20)
  const { uid, gid } = statSync(field.server.dataDir)
  for (let size = 1 << 20; size >= 4096; ) {
    try {
      writeFileSync(filler, block.subarray(0, size), { flag: 'a' })
    } catch {
      size >>= 1
    }
  }
  chownSync(filler, uid, gid)
  await pause(4_000)
  rmSync(filler)
  // A server that could not write its log has ended itself.
  const up = await field.admin('select 1').then(() => true, () => false) // biome-ignore format: one thought
  if (!up) await field.server.restart().catch(() => field.server.restart())
}

function mount(place, size) {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', place]).status === 0
}

function unmount(place) {
  for (let tries = 0; tries < 5; tries++) if (spawnSync('umount', [place]).status === 0) return
  spawnSync('umount', ['-l', place])
}
