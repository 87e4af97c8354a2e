/** A file of handlers as `holdfast work` takes it: a type, and beside it the schedule that makes its jobs. */
import { defineType } from '../../dist/job/type.js'
import { defineSchedule } from '../../dist/schedule/spec.js'

export const work = defineType({ type: 'work', run: () => 'done' })
export const eachSecond = defineSchedule({ name: 'each-second', type: work, every: '1s' })
