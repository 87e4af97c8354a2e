/** A workflow that is loaded from a file: its second task runs in a thread. */
import { defineWorkflow } from 'holdfast'

export const exported = defineWorkflow({
  name: 'exported',
  tasks(task) {
    const first = task('first', { run: ({ n }) => n + 1 })
    return task('second', { after: [first], isolation: 'thread', run: async (_, { parents }) => (await parents()).first * 2 })
  },
})
