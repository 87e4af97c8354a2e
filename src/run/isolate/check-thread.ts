/** Loads the file with the handlers once and says what is in it. */
import { parentPort, workerData } from 'node:worker_threads'
import type { HoldfastError } from '../../errors.js'
import { underEveryName } from '../../job/type.js'
import type { ModuleCheck } from './check-module.js'
import { loadModule } from './load-types.js'
import { enterHost } from './serve.js'

enterHost()
loadModule((workerData as { module: string }).module).then(
  ({ types }) =>
    parentPort?.postMessage({
      kind: 'types',
      types: types.flatMap(underEveryName).map((type) => type.type),
    } satisfies ModuleCheck),
  (error: HoldfastError) =>
    parentPort?.postMessage({ kind: 'broken', code: error.code, message: error.message } satisfies ModuleCheck),
)
