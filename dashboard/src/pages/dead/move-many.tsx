import type { ManyBody, manyAnswer } from '../../../../src/api/dlq.js'
import { ask } from '../../api/ask.js'
import type { Answered } from '../../api/use.js'
import { Act, type Values } from '../../parts/act.js'
import { Field, given, givenNumber } from '../../parts/fields.js'
import { Loaded } from '../../parts/page.js'
import { exactTime } from '../../parts/time.js'
import { useDryRun } from './replay-waits.js'

type Moved = Answered<typeof manyAnswer>

interface MoveManyProps {
  readonly filter: ManyBody['filter']
  /** Types whose replay has to be confirmed. */
  readonly sensitive: readonly string[]
}

/** Replays or discards what fits a filter. The server counts first, and moves only what it counted. */
export function MoveMany({ filter, sensitive }: MoveManyProps) {
  const confirm = sensitive.find((type) => type === filter.type)
  const send = (verb: 'replay' | 'discard') => (values: Values) =>
    ask<Moved>(`admin/dlq/${verb}`, {
      method: 'POST',
      body: {
        filter: { ...filter, ...(values.died_before && !filter.died_before ? { died_before: values.died_before } : {}) },
        dry_run: false,
        at_most: givenNumber(values.at_most),
        why: given(values.why),
        ...(verb === 'replay' ? { confirm } : {}),
      },
    })
  return (
    <>
      <Act
        name="Replay"
        title="Replay dead letters"
        needs="dlq:manage"
        {...(confirm === undefined ? {} : { typed: confirm })}
        send={send('replay')}
        done={(answer) => movedWords('replayed', answer as Moved)}
      >
        <Preview verb="replay" filter={filter} />
        <Field name="at_most" label="At most" hint="so many, the newest first; empty: all of them" type="number" min={1} />
      </Act>
      <Act
        name="Discard"
        title="Discard dead letters"
        needs="dlq:manage"
        look="grave"
        typed="discard"
        why="needed"
        send={send('discard')}
        done={(answer) => movedWords('discarded', answer as Moved)}
      >
        <Preview verb="discard" filter={filter} />
      </Act>
    </>
  )
}

/** How many it would be. */
function Preview({ verb, filter }: { verb: 'replay' | 'discard'; filter: ManyBody['filter'] }) {
  const counted = useDryRun(verb, filter)
  const words = Object.entries(filter).map(([name, value]) => `${name.replaceAll('_', ' ')} ${value}`)
  return (
    <div className="says">
      <Loaded query={counted}>
        {({ matched, died_before, waits }) => (
          <>
            <p>
              <b className="large">{matched}</b> dead letters are meant: {words.join(', ')}, died before {exactTime(died_before)}.
            </p>
            {waits && <p className="soft">{waits}</p>}
            <input type="hidden" name="died_before" value={died_before} />
          </>
        )}
      </Loaded>
    </div>
  )
}

function movedWords(verb: string, { done, matched, refused }: Moved): string {
  const kept = Object.entries(refused).map(([reason, count]) => `${count} not: ${reason}`)
  return [`${done} of ${matched} ${verb}`, ...kept].join('; ')
}
