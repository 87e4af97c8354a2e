import { sleep } from '../../clock.js'
import type { Holdfast } from '../../holdfast.js'
import type { AnyJobType } from '../../job/type.js'
import type { AnyWorkflow } from '../../workflow/typed.js'
import { order } from './order.js'
import { type Second, second } from './traffic.js'
import { jobTypes, provider } from './types.js'

/** What the worker of the demo runs: a type for each thing there is to see, and a workflow. */
export const demoTypes: readonly (AnyJobType | AnyWorkflow)[] = [...jobTypes, order]

const demo = { by: 'the demo' }

/**
 * Plays a small shop until `stop` resolves: about one job a second, and now and then an order, a batch, an approval, an outage of the payment
 * provider. What cannot be enqueued is reported and skipped.
 */
export function startDemo(holdfast: Holdfast, onTrouble: (error: unknown) => void): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  const run = async () => {
    for (let at = 0; !signal.aborted; at++) {
      await play(holdfast, second(at)).catch(onTrouble)
      await sleep(1_000, { signal })
    }
  }
  const running = run()
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

async function play(holdfast: Holdfast, { jobs, order: ordered, batch, calledOff, providerAnswers }: Second): Promise<void> {
  provider.answers = providerAnswers
  await holdfast.enqueueMany(jobs)
  if (ordered) await holdfast.start(order, ordered, { tags: ['shop'] })
  if (batch) await holdfast.batch(batch)
  if (calledOff) {
    await holdfast.enqueueMany(calledOff.jobs)
    const filter = { tags: [calledOff.tag], status: 'scheduled' } as const
    await holdfast.bulk({ action: 'cancel', filter }, { ...demo, why: 'the prices in the mail were last year’s' })
  }
}
