// What `npm start` runs: install, build, and become the command line program.
import { spawnSync } from 'node:child_process'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { installIfMissing } from './install.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const program = join(root, 'dist', 'cli', 'main.js')

installIfMissing(root)
if (isOutdated()) build()

// In this very process rather than in a child. Ctrl-C reaches every process of the terminal, so a child would get it once from
// there and once more from a parent that passes it on, and take the second for "quit at once". One process gets each signal as
// it was sent, ends with its own exit code, and leaves nothing behind when it is killed.
dropEchoesOfSignals()
if (process.env.npm_lifecycle_event) endWithTheShell()
process.argv = [process.execPath, program, 'up', ...process.argv.slice(2)]
await import(pathToFileURL(program).href)

function isOutdated() {
  const built = statSync(program, { throwIfNoEntry: false })?.mtimeMs
  const sources = ['src', 'dashboard/src', 'package.json', 'tsconfig.json', 'tools/build.mjs'].map((name) => join(root, name))
  return built === undefined || sources.some((source) => newest(source) > built)
}

/** Directories count as well: they are newer when a file in them was removed. */
function newest(path) {
  const found = statSync(path)
  if (!found.isDirectory()) return found.mtimeMs
  return Math.max(found.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))))
}

function build() {
  console.log('Building')
  const built = spawnSync(process.execPath, [join(root, 'tools', 'build.mjs')], { stdio: 'inherit' })
  if (built.status === 0) return
  // The compiler writes files even when it finds errors; the next start must not take them for a finished build.
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  process.exit(built.status ?? 1)
}

/**
 * npm passes on every signal to the shell it runs us with. Where that shell has become us (bash), a Ctrl-C that the terminal has
 * sent to us already arrives twice, some milliseconds apart. A person takes longer to press it again and mean it.
 */
function dropEchoesOfSignals() {
  const emit = process.emit
  const last = {}
  process.emit = function (event, ...args) {
    if (event === 'SIGINT' || event === 'SIGTERM') {
      const isEcho = performance.now() - last[event] < 200
      last[event] = performance.now()
      if (isEcho) return true
    }
    return emit.call(this, event, ...args)
  }
}

/**
 * Where that shell stands between npm and us (dash, Debian's sh), it dies of a SIGTERM sent to npm and tells us nothing; we would
 * run on with nobody to stop us. That our parent is another one is all there is to see, hence the look twice a second.
 */
function endWithTheShell() {
  const shell = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === shell) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGTERM')
  }, 500)
  watch.unref()
}
