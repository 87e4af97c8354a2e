import { describe, expect, test } from 'vitest'
import { type ClaimedColumns, claimedRows } from './claimed-columns.js'

const [first, second] = ['019a8d00-0000-7000-8000-000000000001', '019a8d00-0000-7000-8000-000000000002'] as const

const columns: ClaimedColumns = {
  lease: '7',
  ids: `{${first},${second}}`,
  seqs: '{11,12}',
  types: '{3,4}',
  priorities: '{9,5}',
  attempts: '{1,2}',
  maxes: '{5,NULL}',
  created: '{1763251200000.25,NULL}',
  payloads: '{"a":1}\u001f',
  gated: null,
  traces: null,
}

describe('the lists of a claim', () => {
  test('are rows again, with nulls where the body of a job is gone', () => {
    expect(claimedRows(columns)).toEqual([
      { lease: '7', id: first, seq: '11', type: 3, priority: 9, attempt: 1, max: 5, created: 1763251200000.25, payload: '{"a":1}', gated: null, trace: null }, // biome-ignore format: a row
      { lease: '7', id: second, seq: '12', type: 4, priority: 5, attempt: 2, max: null, created: null, payload: null, gated: null, trace: null }, // biome-ignore format: a row
    ])
  })

  test('say of those alone that came through a gate or are traced', () => {
    const rows = claimedRows({ ...columns, gated: [second], traces: { [first]: '00-ab-cd-01' } })
    expect(rows.map(({ gated, trace }) => ({ gated, trace }))).toEqual([
      { gated: null, trace: '00-ab-cd-01' },
      { gated: true, trace: null },
    ])
  })

  test('keep every payload as it is, whatever it holds and however long they are together', () => {
    for (const length of [10, 65_000, 200_000]) {
      const payloads = [`{"n":"${'ä🦊\\u001f '.repeat(length / 10)}"}`, `["${'x'.repeat(length)}"]`]
      const rows = claimedRows({ ...columns, payloads: payloads.join('\u001f') })
      expect(rows.map(({ payload }) => payload)).toEqual(payloads)
    }
  })
})
