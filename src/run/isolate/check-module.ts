import { Worker as Thread } from 'node:worker_threads'
import { type ErrorCode, HoldfastError } from '../../errors.js'
import { type ThreadProgram, threadsFile } from '../../threads.js'
import { inherited } from './child.js'

export type ModuleCheck = { kind: 'types'; types: string[] } | { kind: 'broken'; code: ErrorCode; message: string }

/**
 * Makes sure that the file can be loaded outside of this program and has these types. In a thread, because the file may
 * be the very one that is starting the worker: imported from here, the two would wait for each other.
 */
export async function checkModule(module: string, types: readonly string[]): Promise<void> {
  const thread = new Thread(threadsFile(), {
    argv: ['holdfast:check_module' satisfies ThreadProgram],
    workerData: { module },
    execArgv: inherited(),
  })
  const answer = await new Promise<ModuleCheck>((resolve) => {
    thread.on('message', resolve)
    const broken = (message: string): void => resolve({ kind: 'broken', code: 'invalid_module', message })
    thread.on('error', (error: Error) => broken(`${module} ended its thread: ${error.message}`))
    thread.on('exit', (code) => broken(`${module} ended its thread with exit code ${code}`))
  })
  await thread.terminate()
  if (answer.kind === 'broken') throw new HoldfastError(answer.code, answer.message, { field: 'module' })
  const missing = types.filter((type) => !answer.types.includes(type))
  if (missing.length === 0) return
  const message = `${module} does not export ${missing.join(', ')}, so no thread or process can run it; it exports ${answer.types.join(', ')}`
  throw new HoldfastError('missing_handler', message, { field: 'module' })
}
