// Makes node_modules agree with package-lock.json, and does nothing when it does already. Only Node's own modules: this runs
// before anything is installed.
import { spawnSync } from 'node:child_process'
import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export function installIfMissing(root) {
  if (isInstalled(root)) return
  refuseLink(join(root, 'node_modules'))
  console.log('Installing dependencies')
  const command = ['ci', '--no-audit', '--no-fund']
  // The npm that runs us, if one does, rather than whichever is first on the PATH.
  const npm = process.env.npm_execpath
  const [file, args] = npm?.endsWith('.js') ? [process.execPath, [npm, ...command]] : ['npm', command]
  const installed = spawnSync(file, args, { cwd: root, stdio: 'inherit', shell: file === 'npm' && process.platform === 'win32' })
  if (installed.status !== 0) process.exit(installed.status ?? 1)
}

/** `npm ci` begins by emptying node_modules, which through a link would be the packages of another clone. */
function refuseLink(path) {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return
  console.error(
    `${path} is a symbolic link and does not agree with package-lock.json. Install in the clone it leads to, or remove the link.`,
  )
  process.exit(1)
}

/**
 * npm writes what it installed into a lock file of its own. Contents are compared, not times: a checkout makes every file new, and
 * an install nobody needs takes a minute.
 */
function isInstalled(root) {
  const wanted = packagesOf(join(root, 'package-lock.json'))
  const present = packagesOf(join(root, 'node_modules', '.package-lock.json'))
  if (!wanted || !present) return false
  return Object.entries(wanted).every(([path, entry]) => {
    // Packages for other platforms are listed, optional, and never installed.
    if (!(path in present)) return path === '' || entry.optional || entry.devOptional
    return present[path].version === entry.version && present[path].integrity === entry.integrity
  })
}

function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages
  } catch {
    return undefined
  }
}
