// What docs/reliability.md says of the mutants.
import { explained } from './explained.mjs'
import { kinds } from './kinds.mjs'

export function describeMutants({ seed, possible, functions, mutants }, table) {
  const tried = Object.entries(mutants).map(([id, one]) => ({ id, ...one }))
  const count = (status, kind) => tried.filter((one) => one.status === status && (!kind || one.kind === kind)).length
  const share = (kind) => {
    const [killed, survived] = [count('killed', kind), count('survived', kind)]
    return killed + survived === 0 ? 'none tried' : `${Math.round((killed / (killed + survived)) * 100)} %`
  }
  const survivors = tried.filter(({ status }) => status === 'survived')
  const lines = survivors.map(({ id, says }) => `- \`${id}\`, ${says}: ${reasonOf(id, says) ?? '**not explained yet**'}`)
  const all = Object.values(possible).reduce((sum, one) => sum + one, 0)
  return [
    '### Mutants of the SQL functions',
    `\`npm run mutate\` changes one thing in one of the ${functions} functions, and runs the tests that it concerns. There are ${all.toLocaleString('en')} such mutants;
these are the first ${tried.length} that seed ${seed} chose, every kind as often as the others. A mutant is killed where a test fails twice with it and passes without;
one that its tests leave alive may still be killed by the others. ${count('late')} came to no verdict in time, ${count('invalid')} were refused by PostgreSQL.`,
    table(
      ['mutant', 'there are', 'killed', 'survived', 'share that is killed'],
      Object.entries(kinds).map(([kind, says]) => [
        says,
        possible[kind].toLocaleString('en'),
        count('killed', kind),
        count('survived', kind),
        share(kind),
      ]),
    ),
    survivors.length === 0 ? 'None survived.' : `What survived:\n\n${lines.join('\n')}`,
  ]
}

function reasonOf(id, says) {
  return explained.find((one) => id.startsWith(`${one.name}/`) && one.says === says)?.why
}
