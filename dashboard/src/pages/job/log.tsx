import { useEffect, useState } from 'react'
import { Card } from '../../parts/page.js'

interface Line {
  readonly id: string
  readonly at: string
  readonly attempt: number
  readonly level: 'info' | 'warn' | 'error'
  readonly line: string
}

const shownAtMost = 1_000
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' })

/** What the handler wrote to the log of its job, as it writes it. The browser reconnects by itself and misses no line. */
export function JobLog({ id, status }: { id: string; status: string }) {
  const [lines, setLines] = useState<readonly Line[]>([])
  // A job that was replayed or resumed after its end writes on: the stream is opened again.
  const ended = ['completed', 'cancelled', 'dead', 'discarded'].includes(status)
  useEffect(() => {
    const stream = new EventSource(`./jobs/${encodeURIComponent(id)}/stream`)
    stream.addEventListener('log', ({ data, lastEventId }: MessageEvent<string>) => {
      const line: Line = { ...JSON.parse(data), id: lastEventId }
      setLines((before) => (before.some((one) => one.id === line.id) ? before : [...before, line].slice(-shownAtMost)))
    })
    stream.addEventListener('end', () => stream.close())
    return () => stream.close()
  }, [id, ended])
  if (lines.length === 0) return null
  return (
    <Card title="Log" aside={ended ? undefined : 'live'}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard has to reach it */}
      <section className="log" tabIndex={0} aria-label="Log lines">
        {lines.map(({ id: line, at, attempt, level, line: text }) => (
          <p key={line} data-status={levelStatus[level]}>
            <time dateTime={at} title={at}>
              {clock.format(new Date(at))}
            </time>
            <span className="soft">{attempt}</span>
            <span className={level === 'info' ? undefined : 'status'}>{text}</span>
          </p>
        ))}
      </section>
    </Card>
  )
}

const levelStatus = { info: undefined, warn: 'failed', error: 'dead' } as const
