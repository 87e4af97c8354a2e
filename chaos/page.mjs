// Writes the latest report into the page about it: node chaos/page.mjs
import { readFileSync, writeFileSync } from 'node:fs'

const page = new URL('../docs/reliability.md', import.meta.url)
const report = JSON.parse(readFileSync(new URL('./results/latest.json', import.meta.url), 'utf8'))
const number = (value) => value.toLocaleString('en')
const table = (head, rows) => [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

const { seed, length, seconds, cores, loadBefore, node, faults, controls, notRun, failures } = report
const struck = Object.values(faults).reduce((sum, times) => sum + times, 0)
const violated = Object.values(report.invariants).reduce((sum, { violations }) => sum + violations, 0)
const caught = Object.values(controls).filter(({ caughtBy }) => caughtBy !== null).length
const all = Object.keys(controls).length

const text = `The ${length} run with seed ${seed}: ${seconds} s on ${cores} cores, which others used as well (load average before it: ${loadBefore}); Node ${node}.
**${number(struck)} faults, ${number(report.jobsAcknowledged)} jobs acknowledged, ${number(report.executions)} executions, ${violated} violations.**

${table(
  ['fault', 'times'],
  Object.entries(faults)
    .sort()
    .map(([name, times]) => [name, number(times)]),
)}

${table(
  ['invariant', 'put to the test', 'violations'],
  Object.entries(report.invariants).map(([name, { says, checked, violations }]) => [
    `${name} ${says}`,
    number(checked),
    checked === 0 ? 'not tested yet' : violations,
  ]),
)}

${table(
  ['scenario', 'jobs/s before', 'jobs/s after or under pressure', 'ratio to what was offered'],
  Object.entries(report.scenarios).map(([name, { before, during, ratio }]) => [
    `\`${name}\``,
    number(before),
    number(during),
    `${Math.round(ratio * 100)} %`,
  ]),
)}

${caught === all ? `All ${all} negative controls were caught by the invariant they name.` : `Of ${all} negative controls ${caught} were caught by the invariant they name.`}
${notRun.length === 0 ? 'Every part of the run was run.' : `Not run: ${notRun.map(({ name, why }) => `\`${name}\` (${why})`).join('; ')}.`}
${failures.length === 0 ? 'Nothing failed.' : `What failed:\n\n${failures.map(({ name, violations }) => `- \`${name}\`: ${violations[0].split('\n')[0]}`).join('\n')}`}

With ${number(struck)} faults and no violation, the bound explained below is ${(300 / struck).toFixed(1)} %.`

const [before, rest] = readFileSync(page, 'utf8').split(/(?<=<!-- report: made by node chaos\/page\.mjs -->\n)/)
writeFileSync(page, `${before}\n${text}\n\n${rest.slice(rest.indexOf('<!-- end of report -->'))}`)
