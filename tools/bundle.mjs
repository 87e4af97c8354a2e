// Puts the compiled modules of a folder together into a file for each entry of the package, and files that several of them share. Node
// reads and links four hundred small files in a quarter of a second, and a few large ones in a fraction of that: who starts a producer or a
// worker waits for it. Other packages stay outside. Types stay as they are: only compilers read them.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The entries of package.json as paths inside of dist, and what is started as a program of its own. */
function entries() {
  const { exports, bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const modules = Object.values(exports).flatMap((entry) => entry.default ?? [])
  return [...modules, ...Object.values(bin)].map((path) => path.replace(/^(\.\/)?dist\//, '')).concat('testing/server-guard.js')
}

/** Replaces the modules of `dist`. Classes keep being one of each: what two entries use stands in a file that both load. */
export async function bundle(dist) {
  // Loaded here: those who name this file need not all put something together.
  const { build } = await import('esbuild')
  const made = mkdtempSync(join(dist, '.made-'))
  await build({
    entryPoints: entries().map((path) => join(dist, path)),
    outbase: dist,
    outdir: made,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    logLevel: 'warning',
  })
  for (const path of filesUnder(dist)) {
    if (/\.js(\.map)?$/.test(path) && !/^(dashboard|\.made-\w+)[\\/]/.test(path)) rmSync(join(dist, path))
  }
  cpSync(made, dist, { recursive: true })
  rmSync(made, { recursive: true })
}

function filesUnder(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length)
        .replace(/^[\\/]/, ''),
    )
}
