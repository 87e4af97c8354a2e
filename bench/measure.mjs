// Measures one group of rows: every contestant once a round, so that whatever else the machine does hits all of them alike.
import { summarise } from './figures.mjs'

/** `{ contestant: { figure: { median, lowest, highest, rounds } } }`, and what went wrong. */
export async function measure(group, bench, size, say) {
  const rounds = {}
  const problems = []
  const state = group.open ? await group.open(bench, size) : undefined
  try {
    for (let round = 0; round < size.rounds; round++) {
      for (const [name, run] of inTurn(Object.entries(group.contestants), round)) {
        say(`${group.name}, round ${round + 1} of ${size.rounds}: ${name}`)
        try {
          rounds[name] ??= []
          rounds[name].push(await run(bench, size, state))
        } catch (error) {
          // One that cannot be measured must not keep the others from it.
          problems.push(`${group.name}, ${name}: ${error.message.split('\n')[0]}`)
          if (bench.verbose) console.error(error)
        }
      }
    }
  } finally {
    await state?.close()
  }
  const figures = Object.fromEntries(Object.entries(rounds).map(([name, found]) => [name, summarise(found)]))
  return { figures, problems: [...new Set(problems)] }
}

/** A different one first each round: being first on a quiet or a busy machine is then nobody's privilege. */
function inTurn(contestants, round) {
  const first = round % contestants.length
  return [...contestants.slice(first), ...contestants.slice(0, first)]
}
