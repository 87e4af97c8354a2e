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
  traces: null,
  gated: null,
  rated: null,
  key_limits: null,
  keys: null,
  scheduled: null,
  versions: null,
  waits: null,
  waited: '{1250,0}',
}

describe('the lists of a claim', () => {
  test('are rows again, with nulls where the body of a job is gone', () => {
    expect(claimedRows(columns)).toEqual([
      { lease: '7', id: first, seq: '11', type: 3, priority: 9, attempt: 1, max: 5, created: 1763251200000.25, waited: 1250, payload: '{"a":1}', trace: null, scheduled: null, version: 1, waits: false, gated: false, rated: false, strand: null }, // biome-ignore format: a row
      { lease: '7', id: second, seq: '12', type: 4, priority: 5, attempt: 2, max: null, created: null, waited: 0, payload: null, trace: null, scheduled: null, version: 1, waits: false, gated: false, rated: false, strand: null }, // biome-ignore format: a row
    ])
  })

  test('say of those alone that are traced, have a rate, stand in a wait or share a key with a limit', () => {
    const rows = claimedRows({
      ...columns,
      traces: { [first]: '00-ab-cd-01' },
      gated: [3, 4],
      rated: [4],
      key_limits: { 3: 2, 4: 1 },
      keys: ['', 'a "b"'],
      waits: [second],
    })
    expect(rows.map(({ trace, rated, waits, strand }) => ({ trace, rated, waits, strand }))).toEqual([
      { trace: '00-ab-cd-01', rated: false, waits: false, strand: null },
      { trace: null, rated: true, waits: true, strand: { key: '4 a "b"', most: 1 } },
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
