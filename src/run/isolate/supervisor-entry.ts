/**
 * What a supervisor runs: a process that holds the threads of one type and passes messages on. The threads do not live in
 * the worker itself because their heap limit does not hold there: where one allocation goes far beyond it (an array
 * that grows, a large Map), V8 ends the whole process and not the thread.
 */
import { Worker as Thread } from 'node:worker_threads'
import { describeFailure } from '../../job/failure.js'
import { type ThreadProgram, threadsFile } from '../../threads.js'
import { guardChild } from './guard-child.js'
import type { ChildSettings, FromHost, FromSupervisor, HostEnd, ToSupervisor } from './messages.js'

const settings = JSON.parse(process.argv[3] as string) as ChildSettings
const threads = new Map<number, Thread>()

function tell(message: FromSupervisor): void {
  process.send?.(message)
}

function open(host: number): void {
  const thread = new Thread(threadsFile(), {
    argv: ['holdfast:host_thread' satisfies ThreadProgram],
    workerData: { module: settings.module },
    name: `holdfast host ${host}`,
    resourceLimits: settings.heapMb === null ? {} : { maxOldGenerationSizeMb: settings.heapMb },
  })
  threads.set(host, thread)
  let end: HostEnd | undefined
  thread.on('message', (message: FromHost) => tell({ kind: 'told', host, message }))
  thread.on('error', (error: Error & { code?: string }) => {
    const outOfMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY'
    end = outOfMemory
      ? { how: 'out_of_memory', detail: 'its JavaScript heap was full' }
      : { how: 'failed', failure: describeFailure(error) }
  })
  thread.on('exit', (code) => {
    threads.delete(host)
    tell({ kind: 'closed', host, end: end ?? { how: 'exited', code } })
  })
}

guardChild(settings)
process.on('message', (message: ToSupervisor) => {
  switch (message.kind) {
    case 'open':
      return open(message.host)
    case 'tell':
      return threads.get(message.host)?.postMessage(message.message)
    case 'close':
      return void threads.get(message.host)?.terminate()
  }
})
