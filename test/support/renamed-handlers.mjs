// A type that was called send_mail once, run in the worker and in a thread.
// Not the whole package: every thread and process of an isolated type loads this file, and all of Holdfast takes 0.3 s of the processor.
import { defineType } from '../../dist/job/type.js'

const run = ({ to }, { job }) => ({ to, as: job.type })
export const sendEmail = defineType({ type: 'send_email', aliases: ['send_mail', 'mail'], run })
export const render = defineType({ type: 'render', aliases: ['draw'], isolation: 'thread', memory: 64, atOnce: 1, run })
