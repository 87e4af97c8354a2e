import { clientNames } from './client.js'
import { devNames } from './dev.js'
import { remoteWorkerNames } from './remote-worker.js'
import { rootNames } from './root.js'
import { serverNames } from './server.js'
import { testingNames } from './testing.js'
import { workerNames } from './worker.js'

/** What each entry of the package exports. A name more or less here is a change of the public API. */
export const publicNames = {
  '': rootNames,
  'worker/': workerNames,
  'server/': serverNames,
  'client/': clientNames,
  'remote-worker/': remoteWorkerNames,
  'testing/': testingNames,
  'dev/': devNames,
} as const
