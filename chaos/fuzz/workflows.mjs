// The workflows of the fuzz: every way a task can follow another, with the types of the sequence. The payload of a task is the input of its
// execution, which says what its handlers do; that of an item is the item.
import { defineWorkflow } from 'holdfast'

/** By name. Each task has a type of the sequence; `what` fails is one task, so that others go on or are given up. */
export function makeWorkflows(types) {
  const type = (nth) => ({ type: types[nth % types.length] })
  const inner = defineWorkflow({
    name: 'inner',
    tasks(task) {
      const one = task('one', type(0))
      task('two', { ...type(1), after: [one] })
    },
  })
  const shaped = (name, onFailure) =>
    defineWorkflow({
      name,
      onFailure,
      tasks(task) {
        const first = task('first', type(0))
        const items = task('items', { ...type(1), after: [first], each: '$.input.items[*]' })
        const sub = task('sub', { workflow: inner, after: [first] })
        const other = task('other', { ...type(2), after: [first], payload: { how: 'ok' } })
        task('join', { ...type(0), after: [items, sub, other], payload: { how: 'ok' } })
        task('instead', { ...type(1), after: [items], when: 'failed', payload: { how: 'ok' } })
      },
    })
  return [shaped('stops', 'stop'), shaped('continues', 'continue')]
}

/** The tasks an execution can be run again from. */
export const taskNames = ['first', 'items', 'sub', 'other', 'join']
