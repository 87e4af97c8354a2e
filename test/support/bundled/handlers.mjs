import { defineType } from 'holdfast'

const run = async ({ n }, ctx) => ctx.log.info(`ran ${n}`)

export const inline = defineType({ type: 'inline', run })
export const inThread = defineType({ type: 'in_thread', isolation: 'thread', run })
export const inProcess = defineType({ type: 'in_process', isolation: 'process', run })
