import { join } from 'node:path'

// Each bundles the programs of `project` (test/support/bundled) into `out` and returns the extension that their files have there.
// Loaded when they are used: each takes longer than what it bundles.
const names = ['producer', 'worker', 'handlers', 'holdfast-threads']
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

export const bundlers = {
  'esbuild, ES modules': esbuildEsm,
  'esbuild, CommonJS': esbuildCjs,
  'rollup, ES modules': rollupEsm,
  'webpack, as Next.js does it': nextLike,
  'esbuild, as for AWS Lambda': lambda,
}
