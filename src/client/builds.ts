import type { BuildAnswer, CanaryAnswer } from '../api/builds.js'
import { queryOf } from './query.js'
import type { Send } from './sender.js'

/** The builds of workers over HTTP, for a key that may see or manage workers. */
export class ClientBuilds {
  readonly #send: Send

  /** @internal */
  constructor(send: Send) {
    this.#send = send
  }

  /** The last hundred builds, the newest first. */
  async list(): Promise<BuildAnswer[]> {
    return (await this.#send<{ builds: BuildAnswer[] }>('GET', '/admin/builds')).answer.builds
  }

  /** Whether a build may go on to its next stage, compared with `baseline` or with the build before it. */
  async canary(build: string, options: { baseline?: string } = {}): Promise<CanaryAnswer> {
    return (await this.#send<CanaryAnswer>('GET', `${pathOf(build)}/canary${queryOf(options)}`)).answer
  }

  /** Tells the workers of a build to finish what they have and claim no more. */
  async drain(build: string, options: { why?: string } = {}): Promise<void> {
    await this.#send('POST', `${pathOf(build)}/drain`, options)
  }

  /** Lets the workers of a build claim again. */
  async resume(build: string, options: { why?: string } = {}): Promise<void> {
    await this.#send('POST', `${pathOf(build)}/resume`, options)
  }
}

function pathOf(build: string): string {
  return `/admin/builds/${encodeURIComponent(build)}`
}
