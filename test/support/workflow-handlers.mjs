/** A workflow that is loaded from a file: its second task runs in a thread. */
// Not the whole package: every thread and process of an isolated type loads this file, and all of Holdfast takes 0.3 s of the processor.
import { defineWorkflow } from '../../dist/workflow/define.js'

export const exported = defineWorkflow({
  name: 'exported',
  tasks(task) {
    const first = task('first', { run: ({ n }) => n + 1 })
    return task('second', { after: [first], isolation: 'thread', run: async (_, { parents }) => (await parents()).first * 2 })
  },
})
