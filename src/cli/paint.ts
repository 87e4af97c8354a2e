import { inspect } from 'node:util'
import type { Output } from './io.js'

export type Style = 'bold' | 'dim' | 'cyan' | 'green' | 'yellow' | 'red'
export type Paint = (text: string) => string

/** Colours at a terminal, and none in files and pipes or with NO_COLOR. */
export function painter(style: Style, stream: Output, env: Readonly<Record<string, string | undefined>>): Paint {
  const [begin, end] = inspect.colors[style] as [number, number]
  return (text) => (stream.isTTY && !env.NO_COLOR ? `\u001b[${begin}m${text}\u001b[${end}m` : text)
}
