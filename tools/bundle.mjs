// Puts the compiled modules of a folder together into a file for each entry of the package, and files that several of them share. Node
// reads and links four hundred small files in a quarter of a second, and a few large ones in a fraction of that: who starts a producer or a
// worker waits for it. Other packages stay outside. Types stay as they are: only compilers read them.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The entries of package.json as paths inside of dist, and what is started as a program of its own. */
function entries() {
  const { exports, bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const modules = Object.values(exports).flatMap((entry) => entry.default ?? [])
  return [...modules, ...Object.values(bin)].map((path) => path.replace(/^(\.\/)?dist\//, '')).concat('testing/server-guard.js')
}

/** What is loaded by a producer, and by a worker beside it. Their modules come in as few files as those allow who load only some of them. */
const quick = { holdfast: 'index.js', worker: 'worker/index.js' }

/** Programs that load some modules of those two, and must not load the rest. Whoever is not named here may. */
const small = [
  ['client/index.js'],
  ['remote-worker/index.js'],
  ['cli/main.js'],
  ['claim/heartbeat-thread.js'],
  ['store/queries.js'],
  ['check-thread', 'process-entry', 'supervisor-entry', 'thread-entry'].map((name) => `run/isolate/${name}.js`),
]

/** Replaces the modules of `dist`. Classes keep being one of each: what two entries use stands in a file that both load. */
export async function bundle(dist) {
  // Loaded here: those who name this file need not all put something together.
  const [{ rollup }, { transform }] = await Promise.all([import('@rollup/wasm-node'), import('esbuild')])
  const made = mkdtempSync(join(dist, '.made-'))
  const whole = await rollup({
    input: Object.fromEntries(entries().map((path) => [path.replace(/\.js$/, ''), join(dist, path)])),
    external: /^[^./]/,
    plugins: [{ name: 'without comments', renderChunk: (code) => transform(code, { format: 'esm', target: 'node20.19' }) }],
    onwarn: ({ code, message }) => code !== 'CIRCULAR_DEPENDENCY' && console.warn(message),
  })
  await whole.write({
    dir: made,
    chunkFileNames: 'chunks/[name]-[hash].js',
    hoistTransitiveImports: false,
    manualChunks: fileOf(dist),
  })
  await whole.close()
  for (const path of filesUnder(dist)) {
    if (/\.js(\.map)?$/.test(path) && !/^(dashboard|\.made-\w+)[\\/]/.test(path)) rmSync(join(dist, path))
  }
  cpSync(made, dist, { recursive: true })
  rmSync(made, { recursive: true })
}

/**
 * The name of the file that a module of a producer or a worker goes into; for others rollup decides. Modules are together that the same small
 * programs load, and that need the same packages, so that nobody loads a package for the sake of its neighbours in a file.
 */
function fileOf(dist) {
  let files
  const plan = (infoOf) => {
    const load = (paths) =>
      loadedBy(
        paths.map((path) => join(dist, path)),
        infoOf,
      )
    const reached = small.map(load)
    const signature = (module) => {
      const packages = [...loadedBy([module], infoOf)].filter((id) => infoOf(id).isExternal && !id.startsWith('node:'))
      return [...reached.map((modules) => (modules.has(module) ? 1 : 0)), ...packages.sort()].join()
    }
    const planned = new Map()
    for (const [name, path] of Object.entries(quick)) {
      for (const module of load([path])) {
        if (!infoOf(module).isExternal && !planned.has(module)) planned.set(module, `${name} ${signature(module)}`)
      }
    }
    const names = new Map()
    for (const group of planned.values()) names.set(group, names.get(group) ?? `${group.split(' ')[0]}-${names.size + 1}`)
    return new Map([...planned].map(([module, group]) => [module, names.get(group)]))
  }
  return (module, { getModuleInfo }) => {
    files ??= plan(getModuleInfo)
    return files.get(module)
  }
}

/** What is loaded with these modules, packages too. */
function loadedBy(modules, infoOf) {
  const loaded = new Set()
  const load = (module) => {
    if (loaded.has(module)) return
    loaded.add(module)
    infoOf(module).importedIds.forEach(load)
  }
  modules.forEach(load)
  return loaded
}

function filesUnder(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
}
