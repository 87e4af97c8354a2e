import type { BreakerAnswer } from '../../../src/api/admin.js'
import { Fact, Facts } from './facts.js'
import { inWords, Moment } from './time.js'

/** Where a breaker stands, why, and what makes it open. */
export function BreakerFacts({ breaker }: { breaker: BreakerAnswer }) {
  return (
    <Facts>
      <Fact name="Breaker">
        <span className="status" data-status={breaker.open ? 'dead' : 'completed'}>
          {breaker.open ? 'open: nothing runs' : 'closed'}
          {breaker.held_by === 'operator' && ', held by an operator'}
        </span>
      </Fact>
      {breaker.reason && <Fact name="Because">{breaker.reason}</Fact>}
      {breaker.opened_at && (
        <Fact name="Opened">
          <Moment at={breaker.opened_at} />
        </Fact>
      )}
      {breaker.next_probe_at && (
        <Fact name="Next probe">
          <Moment at={breaker.next_probe_at} />
        </Fact>
      )}
      <Fact name="Opens when">
        {Math.round(breaker.share * 100)} % of at least {breaker.minimum} fail within {inWords(breaker.window_ms)}
      </Fact>
      <Fact name="Probes every">{inWords(breaker.probe_ms)}</Fact>
    </Facts>
  )
}
