import type { DoctorAnswer } from '../../api/doctor.js'
import type { Screen } from '../screen.js'
import { oneLine, wrapped } from '../table.js'

type Finding = DoctorAnswer['findings'][number]

/** Evidence beyond this many lines is counted. */
const mostLines = 6

/** Every finding in a few lines, the worst first, and how many there are. */
export function checkUpLines(screen: Screen, { findings, checked }: DoctorAnswer): string {
  const blocks = findings.map((one) => findingLines(screen, one).join('\n'))
  return [...blocks, countWords(screen, findings, checked)].join('\n\n')
}

function findingLines(screen: Screen, { severity, code, message, evidence, remedy }: Finding): string[] {
  const paint = { error: screen.red, warning: screen.yellow, note: screen.dim }[severity]
  const lines = (text: string, first: string) => wrapped(oneLine(text), screen.width, first)
  const [shown, more] = [evidence.slice(0, mostLines), evidence.length - mostLines]
  return [
    `${paint(severity)}  ${screen.bold(code)}`,
    ...lines(message, '  '),
    ...shown.flatMap((one) => lines(one, '  · ')),
    ...(more > 0 ? [`  · and ${more} more`] : []),
    ...lines(remedy, '  → '),
  ]
}

function countWords(screen: Screen, findings: readonly Finding[], checked: readonly string[]): string {
  const count = (severity: Finding['severity']) => findings.filter((one) => one.severity === severity).length
  const parts = (['error', 'warning', 'note'] as const).flatMap((severity) => {
    const number = count(severity)
    return number === 0 ? [] : [`${number} ${severity}${number === 1 ? '' : 's'}`]
  })
  const looked = wrapped(`(looked at ${checked.join(', ')})`, screen.width, '')
    .map(screen.dim)
    .join('\n')
  return `${parts.length === 0 ? screen.green('All is well.') : `${parts.join(', ')}.`}\n${looked}`
}
