import { showValue } from '../job/failure.js'
import { misconfigured } from '../job/refused.js'

/** One setting, called as it was given. */
export interface Setting {
  name: string
  value: string | undefined
}

/** Settings of a command: an option of the command line, or else the environment. An empty one counts as none. */
export class Given {
  readonly #environment: Readonly<Record<string, string | undefined>>
  readonly #options: Readonly<Record<string, unknown>>

  constructor(environment: Readonly<Record<string, string | undefined>>, options: Readonly<Record<string, unknown>> = {}) {
    this.#environment = environment
    this.#options = options
  }

  /** A variable of the environment, and the option that takes its place where there is one. */
  of(variable: string, option?: string): Setting {
    const named = option?.slice(2).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
    const value = named === undefined ? undefined : this.#options[named]
    if (option !== undefined && value !== undefined) return { name: option, value: String(value) }
    return { name: variable, value: this.#environment[variable] }
  }
}

/** A list with commas, such as HOLDFAST_ALERT_HOSTS=alerts.internal,localhost:9000. */
export function readList({ value }: Setting): string[] {
  return (value ?? '').split(',').flatMap((one) => one.trim() || [])
}

export function readSwitch({ name, value }: Setting, usual: boolean): boolean {
  switch (value?.toLowerCase()) {
    case undefined:
    case '':
      return usual
    case 'on':
    case 'true':
    case '1':
      return true
    case 'off':
    case 'false':
    case '0':
      return false
  }
  throw misconfigured([name], `is ${showValue(value)}; it must be on or off`)
}

/** Undefined where none is given. */
export function readPort({ name, value }: Setting): number | undefined {
  if (!value) return undefined
  const port = Number(value)
  if (/^\d+$/.test(value) && port <= 65_535) return port
  throw misconfigured([name], `is ${showValue(value)}; it must be a whole number from 0 to 65535 (0 means any free port)`)
}
