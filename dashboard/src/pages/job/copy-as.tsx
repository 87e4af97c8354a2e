import type { JobAnswer } from '../../../../src/api/jobs.js'
import { writeExactly } from '../../api/json.js'
import { Copy } from '../../parts/copy.js'

/** The same job once more, as a command to paste into a terminal. What is redacted here is redacted there. */
export function CopyAs({ job }: { job: JobAnswer }) {
  return (
    <span className="copy-as">
      copy as <Copy text={asCurl(job)} label="Copy as a curl command" words="curl" />{' '}
      <Copy text={asCommand(job)} label="Copy as a CLI command" words="CLI" />
    </span>
  )
}

/** A text in single quotes of a shell. */
const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`

export function asCurl(job: JobAnswer): string {
  const { type, payload, priority, max_attempts, concurrency_key, tags } = job
  const body = {
    ...{ type, payload, priority, max_attempts },
    ...(concurrency_key !== null && { concurrency_key }),
    ...(tags.length > 0 && { tags }),
  }
  const address = new URL('./jobs', document.baseURI).href
  return [
    `curl -s ${quoted(address)}`,
    '-H "Authorization: Bearer $HOLDFAST_KEY"',
    `-H 'Content-Type: application/json'`,
    `-d ${quoted(writeExactly(body))}`,
  ].join(' \\\n  ')
}

export function asCommand({ type, payload, priority, concurrency_key, tags }: JobAnswer): string {
  const options = [
    `--priority ${priority}`,
    ...(concurrency_key === null ? [] : [`--key ${quoted(concurrency_key)}`]),
    ...(tags.length === 0 ? [] : [`--tag ${tags.map(quoted).join(' ')}`]),
  ]
  return `npx holdfast enqueue ${quoted(type)} ${quoted(writeExactly(payload))} ${options.join(' ')}`
}
