/** What a thread of an isolated type runs. */
import { parentPort, workerData } from 'node:worker_threads'
import { serve } from './serve.js'

const port = parentPort
if (port) {
  void serve((workerData as { module: string }).module, {
    send: (message) => port.postMessage(message),
    listen: (hear) => port.on('message', hear),
  })
}
