// What docs/reliability.md says of the reports.
import { describeMutants } from './mutate/page.mjs'

const [begin, end] = ['<!-- report: made by node chaos/page.mjs -->\n', '<!-- end of report -->']

/** The page with these reports in it. `today`: the sources that it stands beside. */
export function withReports(page, { long, short, soak, mutation }, today) {
  const runs = [long, short].filter(Boolean)
  /** One of today's sources before a longer one of others. */
  const [soaked] = [long, soak]
    .filter((report) => report?.soak)
    .sort((a, b) => (b.source === today) - (a.source === today) || b.soak.minutes - a.soak.minutes)
  const sections = [
    ...runs.map((report) => describeRun(report, today)),
    describeSoak(soaked, today),
    describeMutation(mutation, today),
  ].filter(Boolean)
  const [before, rest] = page.split(begin)
  return `${before}${begin}\n${sections.join('\n\n')}\n\n${rest.slice(rest.indexOf(end))}`
}

const number = (value) => value.toLocaleString('en')
const percent = (ratio) => `${Math.round(ratio * 1000) / 10} %`
const table = (head, rows) => [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
const sum = (values) => Object.values(values).reduce((total, value) => total + value, 0)

function describeRun(report, today) {
  const { seed, length, minutes, seconds, cores, loadBefore, node, faults, notRun, failures, asynchronousLoss } = report
  const struck = sum(faults)
  const violated = Object.values(report.invariants).reduce((total, { violations }) => total + violations, 0)
  return [
    `### The ${length} run${minutes ? ` of ${minutes} minutes` : ''}, seed ${seed}`,
    `${day(report)}${number(seconds)} s on ${cores} cores, which others used as well (load average before it: ${loadBefore}); Node ${node}.
**${number(struck)} faults, ${number(report.jobsAcknowledged)} jobs acknowledged, ${number(report.executions)} executions, ${violated} violations.**
${bound(struck, violated)}
${sources(report, today)}`,
    describeSweep(report.sweep),
    describeControls(report.controls),
    notRun.length === 0
      ? 'Every part of the run was run.'
      : `Not run: ${notRun.map(({ name, why }) => `\`${name}\` (${why})`).join('; ')}.`,
    failures.length === 0
      ? 'Nothing failed.'
      : `What failed:\n\n${failures.map(({ name, violations }) => `- \`${name}\`: ${violations[0].split('\n')[0]}`).join('\n')}`,
    asynchronousLoss &&
      `A standby that was not waited for was cut off and promoted: of ${number(asynchronousLoss.acknowledged)} jobs that were acknowledged meanwhile
${number(asynchronousLoss.lost)} are lost, and nothing else is.`,
    table(
      ['fault', 'times'],
      Object.entries(faults)
        .sort()
        .map(([name, times]) => [name, number(times)]),
    ),
    table(
      ['invariant', 'put to the test', 'violations'],
      Object.entries(report.invariants).map(([name, { says, checked, violations }]) => [
        `${name} ${says}`,
        number(checked),
        checked === 0 ? 'not tested yet' : violations,
      ]),
    ),
    table(
      ['scenario', 'jobs/s before', 'jobs/s after or under pressure', 'ratio to what was offered'],
      Object.entries(report.scenarios).map(([name, { before: calm, during, ratio, firstRatio }]) => [
        `\`${name}\``,
        number(calm),
        number(during),
        `${percent(ratio)}${firstRatio === undefined ? '' : ` (at the first try ${percent(firstRatio)})`}`,
      ]),
    ),
  ]
    .filter(Boolean)
    .join('\n\n')
}

/** A report is evidence for the sources it was made on, and for no others. */
function sources({ source }, today) {
  if (source === undefined) return 'It does not say which sources it ran on: they were older than those of this page.'
  const ours = `It ran on the sources whose tree is \`${source.slice(0, 12)}\` (\`git rev-parse HEAD:src\` prints that of yours)`
  return source === today ? `${ours}: those of this page.` : `${ours}, and they **have changed since**.`
}

function day({ finished }) {
  return finished ? `${finished.slice(0, 10)}: ` : ''
}

function bound(struck, violated) {
  if (violated > 0) return `A run with violations has no bound: they are to be understood first.`
  return `None in ${number(struck)}: with 95 % confidence less than ${(300 / struck).toFixed(struck > 1_000 ? 2 : 1)} % of such faults break an invariant (3 ⁄ n, explained below).`
}

function describeSweep(sweep) {
  if (!sweep) return undefined
  const part =
    sweep.cases === sweep.of
      ? `all ${number(sweep.of)} cases`
      : `a sample of ${number(sweep.cases)} of the ${number(sweep.of)} cases, chosen by the seed,`
  return `Boundary sweep: ${part} of ${sweep.operations} operations.`
}

function describeControls(controls) {
  const caught = Object.values(controls).filter(({ caughtBy }) => caughtBy !== null).length
  const all = Object.keys(controls).length
  return caught === all
    ? `All ${all} deliberate defects were caught by the invariant they name.`
    : `Of ${all} deliberate defects ${caught} were caught by the invariant they name.`
}

function describeSoak(report, today) {
  if (!report) return undefined
  const { soak } = report
  const rows = Object.entries(soak.series).map(([name, { first, last, growth, flat }]) => [
    name,
    number(Math.round(first * 100) / 100),
    number(Math.round(last * 100) / 100),
    percent(growth),
    flat ? 'yes' : '**no**',
  ])
  return [
    '### The soak',
    `${number(soak.minutes)} minutes at ${number(soak.perSecond)} jobs a second, ${number(soak.jobs)} jobs. Growth is that of the median from the second quarter
of the time to the last one; what is too small to matter counts as none.
${sources(report, today)}`,
    table(['what', 'at first', 'at last', 'growth', 'flat'], rows),
  ].join('\n\n')
}

function describeMutation(report, today) {
  return report && [...describeMutants(report, table), sources(report, today)].join('\n\n')
}
