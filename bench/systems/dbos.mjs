// DBOS: workflows of steps, queued by a client and run by one process. A queue is asked as often as it can be, 24 at once.
import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk'

const name = 'bench'
const quiet = { info() {}, debug() {}, warn() {}, error: console.error }

export async function prepare(url) {
  await DBOS.migrate(url)
}

export async function openProducer(url, { connections }) {
  const client = await DBOSClient.create({
    systemDatabaseUrl: url,
    systemDatabasePoolSize: Math.max(connections, 10),
    applicationName: name,
    logger: quiet,
  })
  const one = (payload) => client.enqueue({ workflowName: 'flow', queueName: 'bench', appVersion: '1' }, payload)
  return {
    one,
    many: (payloads) => Promise.all(payloads.map(one)),
    close: () => client.destroy(),
  }
}

export async function startWorker(url, { count }, handle) {
  let handled = 0
  DBOS.setConfig({ name, systemDatabaseUrl: url, systemDatabasePoolSize: 26, applicationVersion: '1', logger: quiet })
  DBOS.registerWorkflow(
    async (payload) => {
      handle(payload)
      for (let n = 0; n < count; n++) await DBOS.runStep(async () => ({ n }), { name: `step ${n}` })
      handled++
    },
    { name: 'flow' },
  )
  await DBOS.launch()
  await DBOS.registerQueue('bench', { workerConcurrency: 24, minPollingIntervalMs: 1 })
  return {
    // Its clock stops when the last function returns, before the end of that workflow is written: in its favour.
    settled: () => handled,
    stop: () => DBOS.shutdown(),
  }
}
