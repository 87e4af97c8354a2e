// What `npm test` runs: install, build, test; at the end what was not run and why, and the counts in one plain line. Interrupted,
// it says so, and what had been run.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installIfMissing } from './install.mjs'

/** Debian's package for each program that a test may need (test/support/programs.ts). */
const debianPackage = {
  chromium: 'chromium',
  pgbouncer: 'pgbouncer',
  'redis-server': 'redis-server',
  promtool: 'prometheus',
  prometheus: 'prometheus',
  openssl: 'openssl',
  script: 'bsdutils',
  zsh: 'zsh',
  fish: 'fish',
  spin: 'spin',
  cc: 'gcc',
  plproxy: 'postgresql-15-plproxy',
  patroni: 'patroni',
  etcd: 'etcd-server',
  haproxy: 'haproxy',
  'postgresql-15': 'postgresql-15',
  go: 'golang-go',
  python3: 'python3',
}

const root = fileURLToPath(new URL('..', import.meta.url))
const scratch = mkdtempSync(join(tmpdir(), 'holdfast-results-'))
const results = join(scratch, 'results.json')
const notRun = join(scratch, 'not-run')
const progress = join(scratch, 'progress')
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }))

installIfMissing(root)
const built = spawnSync(process.execPath, [join(root, 'tools', 'build.mjs')], { stdio: 'inherit' })
if (built.status !== 0) {
  console.log('The build failed, so no test was run.\n0 passed, 1 failed')
  process.exit(built.status ?? 1)
}
const long = process.argv[2] === '--long'
let interruptedBy
process.exitCode = await runVitest(process.argv.slice(long ? 3 : 2))
if (interruptedBy) {
  process.exitCode = 128 + constants.signals[interruptedBy]
  printInterrupted()
} else {
  printNotRun()
  printCounts(process.exitCode)
}

function runVitest(args) {
  const noting = `--reporter=${join(root, 'tools', 'progress-reporter.mjs')}`
  const reporters = ['--reporter=default', '--reporter=json', noting, `--outputFile.json=${results}`]
  const vitest = spawn(process.execPath, [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...reporters, ...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, HOLDFAST_LONG: long ? '1' : '0', HOLDFAST_NOT_RUN_FILE: notRun, HOLDFAST_PROGRESS_FILE: progress },
  })
  // Ctrl-C in a terminal reaches vitest without us; we stay until it has stopped its Postgres. Other signals reach only us.
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.on(signal, () => {
      interruptedBy ??= signal
      if (signal !== 'SIGINT' || !process.stdin.isTTY) vitest.kill(signal)
    })
  }
  return new Promise((resolve) => vitest.on('close', (code) => resolve(code ?? 1)))
}

/** What had been run by then. A test that was running is not among it: that it was cut off says nothing about it. */
function printInterrupted() {
  const tests = read(progress)
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  const of = (state) => tests.filter((test) => test.state === state)
  const files = new Set(tests.map((test) => test.file)).size
  for (const { file, name } of of('failed')) console.log(`\nFailed: ${file} > ${name}`)
  const skipped = of('skipped').length > 0 ? `, ${of('skipped').length} skipped` : ''
  console.log(
    `\nInterrupted by ${interruptedBy}; by then ${of('passed').length} passed, ${of('failed').length} failed${skipped} in ${files} ${files === 1 ? 'file' : 'files'}`,
  )
}

function printNotRun() {
  const notes = [...new Set(read(notRun).split('\n').filter(Boolean))].map((line) => JSON.parse(line))
  const programs = [...new Set(notes.map((note) => note.program))]
  for (const program of programs) {
    console.log(`\nNot run, because ${program} is not installed (apt-get install -y ${debianPackage[program]}):`)
    for (const note of notes) if (note.program === program) console.log(`  ${note.test}`)
  }
  if (programs.length > 1)
    console.log(`\nTo run them all: apt-get install -y ${programs.map((name) => debianPackage[name]).join(' ')}`)
}

function printCounts(exitCode) {
  const report = JSON.parse(read(results) || '{"testResults":[]}')
  const tests = report.testResults.flatMap((file) => file.assertionResults)
  const count = (...statuses) => tests.filter((test) => statuses.includes(test.status)).length
  // A file that cannot be loaded has no tests to fail, and an error outside of any test fails none: both count as one.
  const broken = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((t) => t.status === 'failed'),
  )
  const failed = count('failed') + broken.length
  const skipped = count('skipped', 'pending', 'todo', 'disabled')
  const shown = failed === 0 && exitCode !== 0 ? 1 : failed
  printSkipped(tests.filter(({ status }) => ['skipped', 'pending', 'todo', 'disabled'].includes(status)))
  if (!long && process.argv.length === 2) printLong(report.testResults)
  console.log(`\n${count('passed')} passed, ${shown} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
}

/** Tests that take minutes: some ran on a sample (test/support/sized.ts), others are only in the long run. */
function printLong(files) {
  const sampled = files.filter(({ name }) => /\.sized\.test\.\w+$/.test(name)).flatMap((file) => file.assertionResults)
  const left = ['src', 'test', 'chaos']
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((path) => join(root, folder, path)))
    .filter((path) => /\.(long|sized)\.test\.\w+$/.test(path))
    .flatMap((path) => read(path).match(path.includes('.long.') ? /^\s*(it|test)(\.\w+)*\(/gm : /^\s*longTest(\.\w+)*\(/gm) ?? [])
  console.log(
    `\n${sampled.length} tests ran on a sample and ${left.length} that take long did not run: npm run test:long runs both, whole.`,
  )
}

/** What was skipped for another reason than a missing program: it needs root, an ordinary user, or the system's PostgreSQL. */
function printSkipped(tests) {
  const noted = read(notRun)
  const names = tests.map((test) => [...test.ancestorTitles, test.title].filter(Boolean).join(' > '))
  const others = names.filter((name) => !noted.includes(JSON.stringify(name.split(' > ').at(-1)).slice(1, -1)))
  if (others.length === 0) return
  console.log(
    '\nNot run here (not asked for, or in need of root, of an ordinary user who can run Node, or of a PostgreSQL of the system):',
  )
  for (const name of others) console.log(`  ${name}`)
}

function read(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
