/** Labels are made where the printer is: by a worker that reaches the shop over HTTP alone. */
import { defineType } from 'holdfast/remote-worker'
import { z } from 'zod'

export const makeLabel = defineType({
  type: 'make_label',
  payload: z.object({ order: z.number(), tenant: z.string() }),
  timeout: '30s',
  async run({ order, tenant }, { step, progress }) {
    const drawn = await step('draw', () => `${tenant} #${order}`)
    progress(1, 'printed')
    return { label: drawn }
  },
})
