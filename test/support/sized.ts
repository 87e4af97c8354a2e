import { test } from 'vitest'

/** Whether this is the long run (`npm run test:long`). */
const long = process.env.HOLDFAST_LONG === '1'

/** How much of something a test in a `*.sized.test.*` file does: a sample in `npm test`, all of it in the long run. The property that it checks is the same. */
export function sized<Size>({ sample, whole }: { sample: Size; whole: Size }): Size {
  return long ? whole : sample
}

const none = Object.assign(() => {}, { each: () => none, skipIf: () => none }) as unknown as typeof test

/**
 * A test that only the long run has, in a `*.sized.test.*` file: it costs seconds of the processor, and another test of the file, or one
 * that it names, checks the same promise in `npm test`. Tests that are alike but for a row of a table are `test.each(sized({ … }))` instead.
 */
export const longTest: typeof test = long ? test : none
