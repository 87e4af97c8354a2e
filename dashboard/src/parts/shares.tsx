import { Count } from './count.js'

export interface Share {
  readonly status: string
  readonly words: string
  readonly count: number
}

const width = 600

/** How a whole is divided, as one bar with its numbers beneath; the order is the order of the parts. */
export function Shares({ label, shares }: { label: string; shares: readonly Share[] }) {
  const total = shares.reduce((sum, { count }) => sum + count, 0)
  let from = 0
  return (
    <div className="shares">
      <svg viewBox={`0 0 ${width} 8`} preserveAspectRatio="none" role="img" aria-label={label}>
        <rect x="0" y="0" width={width} height="8" fill="var(--sunken)" />
        {shares.map(({ status, count }) => {
          const x = from
          const length = total === 0 ? 0 : (count / total) * width
          from += length
          return count > 0 && <rect key={status} data-status={status} x={x} y="0" width={length} height="8" fill="var(--state)" />
        })}
      </svg>
      <p>
        {shares
          .filter(({ count }) => count > 0)
          .map(({ status, words, count }) => (
            <span key={status} className="status" data-status={status}>
              <Count count={count} /> {words}
            </span>
          ))}
        {total === 0 && <span className="soft">none</span>}
      </p>
    </div>
  )
}
