// A type that was called send_mail once, run in the worker and in a thread.
import { defineType } from 'holdfast'

const run = ({ to }, { job }) => ({ to, as: job.type })
export const sendEmail = defineType({ type: 'send_email', aliases: ['send_mail', 'mail'], run })
export const render = defineType({ type: 'render', aliases: ['draw'], isolation: 'thread', memory: 64, atOnce: 1, run })
