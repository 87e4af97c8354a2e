/** Whether this is the long run (`npm run test:long`). */
const long = process.env.HOLDFAST_LONG === '1'

/** How much of something a test in a `*.sized.test.*` file does: a sample in `npm test`, all of it in the long run. The property that it checks is the same. */
export function sized<Size>({ sample, whole }: { sample: Size; whole: Size }): Size {
  return long ? whole : sample
}
