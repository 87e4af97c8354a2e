/** A curve in the colour of a state. */
export interface Line {
  readonly name: string
  readonly status: string
  readonly values: readonly (number | null)[]
  readonly dash?: readonly number[]
  /** Coloured down to zero. */
  readonly fill?: boolean
}

/** Something that happened at a time, in seconds since 1970. */
export interface Mark {
  readonly at: number
  readonly text: string
}

export interface ChartProps {
  readonly title: string
  /** In seconds since 1970. */
  readonly times: readonly number[]
  readonly lines: readonly Line[]
  readonly marks: readonly Mark[]
  readonly inWords: (value: number) => string
  /** The same, for the axis. */
  readonly onAxis: (value: number) => string
}
