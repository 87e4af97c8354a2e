// The workflows of a campaign: every way a task can follow another. The payload of a task is the input of its execution, which names its call.
import { defineWorkflow } from 'holdfast'
import { types } from './types.mjs'

const often = { type: types.work, maxAttempts: 20 }

const inner = defineWorkflow({
  name: 'inner',
  tasks(task) {
    const one = task('one', { ...often })
    task('two', { ...often, after: [one] })
  },
})

/** Two branches, a fan-out, a sub-workflow, and a task that waits for all of them. */
export const shaped = defineWorkflow({
  name: 'shaped',
  tasks(task) {
    const a = task('a', { ...often })
    const b = task('b', { ...often, after: [a] })
    const items = task('items', { ...often, after: [a], each: '$.input.items[*]' })
    const sub = task('sub', { workflow: inner, after: [a] })
    const c = task('c', { ...often, after: [b] })
    task('join', { ...often, after: [c, items, sub] })
  },
})

/** One task fails for good: what needs it is skipped, and what waits for its failure starts. */
export const failing = defineWorkflow({
  name: 'failing',
  onFailure: 'continue',
  tasks(task) {
    const a = task('a', { ...often })
    const bad = task('bad', { type: types.work, payload: { call: 'a task that fails', fatal: 'no retry can help' }, after: [a] })
    task('never', { ...often, after: [bad] })
    task('instead', { ...often, after: [bad], when: 'failed' })
  },
})

/** How many jobs an execution makes with the call of its input. */
export const jobsOf = { shaped: (input) => 4 + 2 + input.items.length, failing: () => 2 }
