// Measures one group of rows: every contestant once a round, so that whatever else the machine does hits all of them alike.
import { summarise } from './figures.mjs'

/** `{ contestant: { figure: { median, lowest, highest, rounds } } }`, and what went wrong. */
export async function measure(group, bench, size, say) {
  const rounds = {}
  const problems = []
  let state
  try {
    if (group.open) say(`${group.name}: making ready`)
    state = await group.open?.(bench, size)
  } catch (error) {
    return { figures: {}, problems: [problem(group.name, error, bench)] }
  }
  try {
    for (let round = 0; round < size.rounds; round++) {
      for (const [name, run] of inTurn(Object.entries(group.contestants), round)) {
        say(`${group.name}, round ${round + 1} of ${size.rounds}: ${name}`)
        try {
          rounds[name] ??= []
          rounds[name].push(await run(bench, size, state))
        } catch (error) {
          // One that cannot be measured must not keep the others from it.
          problems.push(problem(`${group.name}, ${name}`, error, bench))
        }
      }
    }
  } finally {
    // What was measured is not lost because its stage did not close in good order, and the next group has one of its own.
    await state?.close().catch((error) => problems.push(problem(`${group.name}, closing`, error, bench)))
  }
  const figures = Object.fromEntries(Object.entries(rounds).map(([name, found]) => [name, summarise(found)]))
  return { figures, problems: [...new Set(problems)] }
}

function problem(where, error, { verbose }) {
  if (verbose) console.error(error)
  return `${where}: ${error.message.split('\n')[0]}`
}

/** A different one first each round: being first on a quiet or a busy machine is then nobody's privilege. */
function inTurn(contestants, round) {
  const first = round % contestants.length
  return [...contestants.slice(first), ...contestants.slice(0, first)]
}
