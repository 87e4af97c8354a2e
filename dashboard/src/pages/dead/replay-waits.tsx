import { useQuery } from '@tanstack/react-query'
import type { MovedAnswer } from '../../../../src/api/common.js'
import type { ManyBody, manyAnswer } from '../../../../src/api/dlq.js'
import { ask } from '../../api/ask.js'
import type { Answered } from '../../api/use.js'

/** What moving all that fit would do: how many there are, and what would hold them back. Nothing is moved. */
export function useDryRun(verb: 'replay' | 'discard', filter: ManyBody['filter']) {
  return useQuery({
    queryKey: ['preview', verb, filter],
    queryFn: () => ask<Answered<typeof manyAnswer>>(`admin/dlq/${verb}`, { method: 'POST', body: { filter, dry_run: true } }),
    refetchInterval: false,
    staleTime: 0,
    gcTime: 0,
  })
}

/** Before a dead job of this type is replayed: what it will wait for. */
export function WillWait({ type }: { type: string }) {
  const { data } = useDryRun('replay', { type })
  return data?.waits ? <p className="says soft">{data.waits}</p> : null
}

/** After it was. */
export function replayedWords(said: string): (answer: unknown) => string {
  return (answer) => {
    const { waits } = answer as MovedAnswer
    return waits ? `${said}. It does not run yet: ${waits}` : said
  }
}
