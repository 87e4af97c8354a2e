import { defineType } from '../dist/index.js'

const nothing = () => {}
const many = { atOnce: 2, recycle: { jobs: 1_000_000 } }
export const inline = defineType({ type: 'noop_inline', run: nothing })
export const thread = defineType({ type: 'noop_thread', isolation: 'thread', ...many, run: nothing })
export const child = defineType({ type: 'noop_process', isolation: 'process', ...many, run: nothing })

/** Burns a core until the time in its payload. */
export const burn = defineType({
  type: 'burn',
  isolation: 'thread',
  atOnce: 2,
  run({ until }) {
    while (Date.now() < until);
  },
})
