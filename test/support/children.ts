import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const dist = new URL('../../dist', import.meta.url).href

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  /** Everything it wrote, both streams together. */
  output: string
}

/** A Node program of its own. `env` is laid over this process's; undefined takes a variable away. */
export function startNode(
  args: string[],
  env: Record<string, string | undefined> = {},
): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, HOLDFAST_DIST: dist, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  const ended = new Promise<Ended>((resolve) => child.on('close', (code, signal) => resolve({ code, signal, output })))
  return { child, ended }
}

export function support(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url))
}
