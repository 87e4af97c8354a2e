const whole = new Intl.NumberFormat()

/** A number of things. `more`: counting stopped there. */
export function Count({ count, more = false }: { count: number; more?: boolean }) {
  return (
    <>
      {whole.format(count)}
      {more ? '+' : ''}
    </>
  )
}

/** A number in a table, where nothing is told apart from something at a glance. */
export function FaintIfZero({ count, more = false }: { count: number; more?: boolean }) {
  return (
    <span className={count === 0 ? 'zero' : undefined}>
      <Count count={count} more={more} />
    </span>
  )
}
