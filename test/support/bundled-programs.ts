import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const sources = fileURLToPath(new URL('.', import.meta.url))

/** Lists which modules Node has loaded, so it has to run as it stands. */
const leftOut = 'loaded-program.mjs'

/**
 * Bundles the programs of this folder and the command line into a folder of the run, as docs/install.md says. A run starts hundreds of them, and each needs
 * 0.3 s of the processor until it works instead of 0.7, because Node loads a dozen files instead of four hundred.
 */
export async function bundlePrograms(folder: string): Promise<void> {
  // Only the process that starts the run needs it.
  const { build } = await import('esbuild')
  const names = readdirSync(sources).filter((name) => /-(program|worker|process|handlers)\.mjs$/.test(name) && name !== leftOut)
  const dist = fileURLToPath(new URL('../../dist/', import.meta.url))
  await build({
    entryPoints: [
      ...names.map((name) => ({ in: join(sources, name), out: name.slice(0, -'.mjs'.length) })),
      { in: join(dist, 'holdfast-threads.js'), out: 'holdfast-threads' },
      { in: join(dist, 'cli', 'main.js'), out: 'cli/main' },
    ],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    // `pg` is CommonJS, and asks for `require`.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    logLevel: 'error',
  })
  process.env.HOLDFAST_TEST_PROGRAMS = folder
}

/** Where test/support/<name>.mjs stands, bundled, or the command line: cli/main. */
export function bundledProgram(name: string): string {
  return join(process.env.HOLDFAST_TEST_PROGRAMS as string, `${name}.mjs`)
}
