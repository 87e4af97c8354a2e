import { startRemoteWorker } from 'holdfast/remote-worker'
import { makeLabel } from './label.ts'

const { HOLDFAST_URL: url = '', HOLDFAST_KEY: key = '' } = process.env
const worker = await startRemoteWorker({ url, key }, [makeLabel], { handleSignals: true })
await worker.stopped
