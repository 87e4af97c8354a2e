import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// Each bundles the programs of `project` (test/support/bundled) into `out` and returns the extension that their files have there.
// Loaded when they are used: each takes longer than what it bundles.
const names = ['producer', 'worker', 'server', 'kit', 'handlers', 'holdfast-threads']
const entries = (project) => Object.fromEntries(names.map((name) => [name, join(project, `${name}.mjs`)]))

/** What docs/install.md says about ES modules: `pg` is CommonJS, and asks for `require`. */
const requireForPg = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

const esbuildEsm = async (project, out) => {
  const { build } = await import('esbuild')
  const banner = { js: requireForPg }
  const common = { bundle: true, platform: 'node', logLevel: 'error' }
  await build({ ...common, banner, entryPoints: entries(project), format: 'esm', outdir: out, outExtension: { '.js': '.mjs' } })
  return 'mjs'
}

const esbuildCjs = async (project, out) => {
  const { build } = await import('esbuild')
  const common = { bundle: true, platform: 'node', logLevel: 'error' }
  await build({ ...common, entryPoints: entries(project), format: 'cjs', outdir: out, outExtension: { '.js': '.cjs' } })
  return 'cjs'
}

/** As tools for AWS Lambda do it: one minified file for each, for one version of Node. */
const lambda = async (project, out) => {
  const { build } = await import('esbuild')
  const common = { bundle: true, platform: 'node', target: 'node20', minify: true, logLevel: 'error' }
  await build({ ...common, entryPoints: entries(project), format: 'cjs', outdir: out })
  return 'js'
}

const rollupEsm = async (project, out) => {
  const { rollup } = await import('@rollup/wasm-node')
  const { nodeResolve } = await import('@rollup/plugin-node-resolve')
  const { default: commonjs } = await import('@rollup/plugin-commonjs')
  const { default: json } = await import('@rollup/plugin-json')
  const plugins = [nodeResolve({ preferBuiltins: true, exportConditions: ['node'] }), commonjs(), json()]
  const bundle = await rollup({ input: entries(project), plugins, onwarn() {} })
  await bundle.write({ dir: out, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: 'chunks/[name]-[hash].mjs' })
  await bundle.close()
  return 'mjs'
}

/** As Next.js does it for what runs on the server: webpack, minified, CommonJS, code that several entries need in chunks. */
const nextLike = async (project, out) => {
  const { default: webpack } = await import('webpack')
  return new Promise((resolve, reject) => {
    webpack(
      {
        mode: 'production',
        target: 'node20',
        context: project,
        entry: entries(project),
        output: { path: out, filename: '[name].js', chunkFilename: 'chunks/[name].js', library: { type: 'commonjs2' } },
        optimization: { splitChunks: { chunks: 'all' } },
      },
      (error, stats) => {
        if (error || stats?.hasErrors()) reject(error ?? new Error(stats?.toString('errors-only')))
        else resolve('js')
      },
    )
  })
}

/** The lines of docs/install.md as they stand, but that npx need not look for esbuild, and with the handlers as one more entry, as the page says, and the others. */
const asDocumented = async (project, out) => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const page = readFileSync(join(root, 'docs', 'install.md'), 'utf8')
  const lines = [...page.matchAll(/```sh\n([\s\S]*?)```/g)]
    .map(([, block]) => block)
    .filter((block) => block.includes('npx esbuild'))
  if (lines.length !== 2) throw new Error(`docs/install.md has ${lines.length} blocks with esbuild`)
  for (const name of ['producer', 'worker']) writeFileSync(join(project, `${name}.js`), `import './${name}.mjs'\n`)
  const esbuild = `"${process.execPath}" "${join(root, 'node_modules', 'esbuild', 'bin', 'esbuild')}"`
  const script = lines
    .join('')
    .replaceAll('npx esbuild', esbuild)
    .replace('worker.js ', 'worker.js server.mjs kit.mjs handlers.mjs ')
  execFileSync('sh', ['-e', '-c', script], { cwd: project, stdio: ['ignore', 'pipe', 'pipe'] })
  cpSync(join(project, 'out'), out, { recursive: true })
  return 'cjs'
}

export const bundlers = {
  'the lines of docs/install.md': asDocumented,
  'esbuild, ES modules': esbuildEsm,
  'esbuild, CommonJS': esbuildCjs,
  'rollup, ES modules': rollupEsm,
  'webpack, as Next.js does it': nextLike,
  'esbuild, as for AWS Lambda': lambda,
}
