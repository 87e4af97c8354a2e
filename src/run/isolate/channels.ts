import { fileURLToPath } from 'node:url'
import { type ThreadProgram, threadsFile } from '../../threads.js'
import { type Child, startChild } from './child.js'
import type { Channel, ChannelEvents } from './host.js'
import type { ChildSettings, FromHost, FromSupervisor, HostEnd, ToHost, ToSupervisor } from './messages.js'

/**
 * How much memory a process may use beyond its start: more than its heap, because V8 needs space to collect it, and Buffers count as well.
 * The watch thread ends the process at this much and says why; the limit that the system enforces is higher, so that it can.
 */
const growMb = (memoryMb: number): number => Math.ceil(memoryMb * 1.25) + 48
const dataMb = (grow: number): number => Math.ceil(grow * 1.5) + 256

const command = (program: ThreadProgram, settings: ChildSettings): string[] => [
  fileURLToPath(threadsFile()),
  program,
  JSON.stringify(settings),
]

/** A process that runs one job at a time. */
export function openProcess(module: string, memoryMb: number | null, events: ChannelEvents): Channel {
  const grow = memoryMb === null ? null : growMb(memoryMb)
  const settings: ChildSettings = { module, heapMb: memoryMb, growMb: grow, parent: process.pid }
  const limits = { heapMb: memoryMb, dataMb: grow === null ? null : dataMb(grow) }
  return startChild<ToHost, FromHost>(command('holdfast:host_process', settings), limits, events)
}

/** The process that holds the threads of one type. Started with the first thread, ended with the last. */
export class ThreadSupervisor {
  readonly #module: string
  readonly #memoryMb: number
  readonly #growMb: number
  #open = new Map<number, ChannelEvents>()
  /** Processes that are not gone yet, also those that were told to end. */
  readonly #alive = new Set<Child<ToSupervisor>>()
  #onEmpty: (() => void) | undefined
  #child: Child<ToSupervisor> | undefined
  #lastHost = 0

  constructor(module: string, memoryMb: number, atOnce: number) {
    this.#module = module
    this.#memoryMb = memoryMb
    this.#growMb = growMb(memoryMb) * atOnce
  }

  open(events: ChannelEvents): Channel {
    this.#child ??= this.#start()
    const child = this.#child
    const host = ++this.#lastHost
    this.#open.set(host, events)
    child.send({ kind: 'open', host })
    return {
      send: (message) => child.send({ kind: 'tell', host, message }),
      kill: () => child.send({ kind: 'close', host }),
    }
  }

  /** Resolves when no process of it is left. All threads have to be closed before. */
  async gone(): Promise<void> {
    if (this.#alive.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onEmpty = resolve
      })
    }
  }

  #start(): Child<ToSupervisor> {
    const settings: ChildSettings = {
      module: this.#module,
      heapMb: this.#memoryMb,
      growMb: this.#growMb,
      parent: process.pid,
    }
    const child: Child<ToSupervisor> = startChild<ToSupervisor, FromSupervisor>(
      command('holdfast:supervisor', settings),
      { heapMb: null, dataMb: dataMb(this.#growMb) },
      {
        message: (message) => this.#hear(message, child),
        ended: (end) => {
          this.#alive.delete(child)
          if (this.#alive.size === 0) this.#onEmpty?.()
          this.#fall(end, child)
        },
      },
    )
    this.#alive.add(child)
    return child
  }

  #hear(message: FromSupervisor, child: Child<ToSupervisor>): void {
    if (message.kind === 'told') return this.#open.get(message.host)?.message(message.message)
    const events = this.#open.get(message.host)
    this.#open.delete(message.host)
    if (this.#open.size === 0 && this.#child === child) {
      this.#child = undefined
      child.kill()
    }
    events?.ended(message.end)
  }

  #fall(end: Exclude<HostEnd, { how: 'supervisor_died' }>, child: Child<ToSupervisor>): void {
    if (this.#child !== child) return
    this.#child = undefined
    const inIt = [...this.#open.values()]
    this.#open = new Map()
    const shared = inIt.filter((events) => events.busy()).length > 1
    for (const events of inIt) events.ended(events.busy() && !shared ? end : { how: 'supervisor_died', end })
  }
}
