const box = { width: 80, height: 18 }

/** A curve as small as a word: where a number came from. The number itself stands beside it. */
export function Trend({ values, title }: { values: readonly (number | null)[]; title: string }) {
  const most = Math.max(1, ...values.map((value) => value ?? 0))
  const step = box.width / Math.max(1, values.length - 1)
  const points = values.map(
    (value, at) => `${(at * step).toFixed(1)},${(box.height - 1 - ((value ?? 0) / most) * (box.height - 2)).toFixed(1)}`,
  )
  if (values.length < 2) return null
  return (
    <svg className="trend" viewBox={`0 0 ${box.width} ${box.height}`} preserveAspectRatio="none" role="img" aria-label={title}>
      <polyline points={points.join(' ')} />
    </svg>
  )
}
