// Many things at a time, and none of them for ever.

/** Works through the items, so many at a time, in their order. */
export async function eachAtOnce(items, atOnce, work) {
  const left = [...items]
  const take = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, take))
}

/** What does not come to an end in time is a failure with a name, not a run that stands still. */
export function within(ms, what, work) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not come to an end within ${ms / 1000} s`)), ms)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
