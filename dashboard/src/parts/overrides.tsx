import type { overrides as schema } from '../../../src/api/common.js'
import type { Permission } from '../../../src/api/permissions.js'
import type { Answered } from '../api/use.js'
import { Act } from './act.js'
import { Field } from './fields.js'
import { Card } from './page.js'
import { Table } from './table.js'
import { Moment } from './time.js'

type Overrides = Answered<typeof schema>

interface Said {
  readonly overrides: Overrides
  /** Where a POST gives all of it back to the code. */
  readonly releases: string
  readonly needs?: Permission
}

/** What operators said, beside what the code says, with what gives it back. Nothing where they said nothing. */
export function WhatOperatorsSaid({ overrides, releases, needs = 'workers:manage' }: Said) {
  if (overrides.length === 0) return null
  return (
    <Card title="Set by operators" aside={<Release posts={releases} needs={needs} />}>
      <Table
        label="Set by operators"
        rows={overrides}
        keyOf={({ field, until }) => `${field} ${until}`}
        empty=""
        columns={[
          { name: 'What', cell: ({ field }) => field },
          { name: 'Counts', cell: ({ value }) => said(value) },
          { name: 'The code says', cell: ({ code }) => said(code) },
          { name: 'By', cell: ({ by }) => by },
          { name: 'Until', cell: ({ until }) => (until === null ? 'it is released' : <Moment at={until} />) },
        ]}
      />
    </Card>
  )
}

const said = (value: unknown) => (value === null || value === undefined ? '–' : JSON.stringify(value))

function Release({ posts, needs }: { posts: string; needs: Permission }) {
  return (
    <Act
      name="Release"
      title="Give all of it back to the code?"
      says="From then on what the code says counts."
      needs={needs}
      posts={posts}
      done="What the code says counts again"
    />
  )
}

/** For how long: empty means until somebody takes it back. */
export function ForField() {
  return <Field name="for" label="For" placeholder="30m" hint="then it is over by itself; empty: until somebody takes it back" />
}

/** When a pause is over, in words. */
export function Until({ until }: { until: string | null | undefined }) {
  return until ? (
    <>
      {' '}
      until <Moment at={until} />
    </>
  ) : null
}
