/** What a process of an isolated type runs. */
import { guardChild } from './guard-child.js'
import type { ChildSettings, ToHost } from './messages.js'
import { serve } from './serve.js'

const settings = JSON.parse(process.argv[3] as string) as ChildSettings
guardChild(settings)
void serve(settings.module, {
  send: (message) => void process.send?.(message),
  listen: (hear) => process.on('message', (message) => hear(message as ToHost)),
})
