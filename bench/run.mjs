// npm run bench [-- --full] [-- <name of a row or a group> …]: Holdfast beside its peers, on one Postgres, in one run. Each group is written
// to bench/results/latest.json when it has been measured, in place of what was there. --resume leaves out what was measured on the same
// code at the same size; --quick makes everything small, to see whether it works, and writes nothing; --rounds=5 overrules the rounds;
// --verbose says more about errors.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { installPeers } from './install.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const words = process.argv.slice(2)
const flags = Object.fromEntries(words.filter((word) => word.startsWith('--')).map((word) => word.slice(2).split('=')))
const names = words.filter((word) => !word.startsWith('--'))
const unknown = Object.keys(flags).filter((flag) => !['full', 'quick', 'resume', 'rounds', 'verbose'].includes(flag))
if (unknown.length > 0) {
  console.error(`usage: npm run bench [-- --full | --quick] [--rounds=5] [--verbose] [<name of a row or a group> …]`)
  process.exit(unknown.includes('help') ? 0 : 1)
}

installPeers()
const built = spawnSync(process.execPath, [`${root}tools/build.mjs`], { stdio: 'inherit' })
if (built.status !== 0) process.exit(built.status ?? 1)

// Only now: these need what was just installed and built.
const { runBench } = await import('./bench.mjs')
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
const sizeName = 'full' in flags ? 'full' : 'quick' in flags ? 'quick' : 'short'
process.exitCode = await runBench({
  names,
  sizeName,
  rounds: flags.rounds,
  verbose: 'verbose' in flags,
  resume: 'resume' in flags,
})
