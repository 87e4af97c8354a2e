/** Stands where something will be, in about its size, so that nothing jumps once it is there. */
export function Skeleton({ rows = 4 }: { rows?: number }) {
  return (
    <div className="skeleton">
      <span className="unseen">Loading …</span>
      {Array.from({ length: rows }, (_, row) => (
        <span key={row} aria-hidden="true" />
      ))}
    </div>
  )
}
