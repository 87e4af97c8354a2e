import nodeModule from 'node:module'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { HoldfastError } from '../../errors.js'
import { describeFailure } from '../../job/failure.js'
import { isSchedule, type MarkedSchedule } from '../../job/schedule-mark.js'
import { type AnyJobType, isJobType } from '../../job/type.js'
import { isWorkflow, type MarkedWorkflow } from '../../job/workflow-mark.js'

const typescript = /\.[cm]?tsx?$/

/** The file as a URL: it may be given as a URL, the text of one (import.meta.url) or a path from the working directory. */
export function moduleUrl(module: string | URL): string {
  if (module instanceof URL) return module.href
  return module.startsWith('file:') ? module : pathToFileURL(resolve(module)).href
}

export interface LoadedModule {
  types: AnyJobType[]
  workflows: MarkedWorkflow[]
  schedules: MarkedSchedule[]
  /** What it exports as `build`: the name of the code in it. */
  build?: string
}

/** Every job type, workflow and schedule the file exports: by name, in an array or an object; a type also in a workflow. What goes wrong names the file. */
export async function loadModule(module: string): Promise<LoadedModule> {
  const file = module.startsWith('file:') ? fileURLToPath(module) : module
  let exported: Record<string, unknown>
  try {
    if (typescript.test(file)) await readTypeScript(module, file)
    // No bundler may look into this: the file is known when the program runs.
    exported = await import(/* webpackIgnore: true */ /* @vite-ignore */ module)
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'invalid_module') throw error
    const { name, message } = describeFailure(error)
    throw new HoldfastError('invalid_module', `${file} cannot be loaded: ${name}: ${message}`, { field: 'module', cause: error })
  }
  // A CommonJS file shows its exports twice: by name and as the default.
  const found = [...new Set(Object.values(exported).flatMap(definitionsIn))]
  const workflows = found.filter(isWorkflow)
  const byName = new Map<string, AnyJobType>()
  for (const type of new Set([...found.filter(isJobType), ...workflows.flatMap(({ types }) => types)])) {
    if (byName.has(type.type)) throw new HoldfastError('duplicate_handler', `${file} has two handlers for ${type.type}`)
    byName.set(type.type, type)
  }
  if (byName.size === 0) {
    throw new HoldfastError('missing_handler', `${file} exports no job types; export what defineType returns`, {
      field: 'module',
    })
  }
  const { build } = exported
  const named = typeof build === 'string' && { build }
  return { types: [...byName.values()], workflows, schedules: found.filter(isSchedule), ...named }
}

type Definition = AnyJobType | MarkedWorkflow | MarkedSchedule

function definitionsIn(value: unknown): readonly Definition[] {
  const isDefinition = (one: unknown): one is Definition => isJobType(one) || isWorkflow(one) || isSchedule(one)
  if (isDefinition(value)) return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).filter(isDefinition) : []
}

let tsxRegistered = false

/** Lets Node take TypeScript: by itself where it can, or through tsx where the project has it. For development. */
async function readTypeScript(module: string, file: string): Promise<void> {
  if (tsxRegistered || (process.features as { typescript?: unknown }).typescript) return
  const require = nodeModule.createRequire(module)
  let manifest: string
  try {
    manifest = require.resolve('tsx/package.json')
  } catch {
    const message = `${file} is TypeScript, which Node ${process.versions.node} does not run by itself: npm install -D tsx, use Node 22.18 or later, or give the built .js file`
    throw new HoldfastError('invalid_module', message, { field: 'module' })
  }
  // Not `import 'tsx'`, which does nothing in a thread; and not by require.resolve, which finds the wrong one of its builds.
  for (const kind of ['./cjs/api', './esm/api']) {
    const path: string = require(manifest).exports[kind].import.default
    const { register } = await import(/* webpackIgnore: true */ /* @vite-ignore */ new URL(path, pathToFileURL(manifest)).href)
    register()
  }
  tsxRegistered = true
}
