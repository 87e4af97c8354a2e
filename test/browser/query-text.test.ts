import { expect, test } from 'vitest'
import { filterFields, readQuery, timesOf, writeQuery } from '../../dashboard/src/pages/jobs/query-text.js'
import { suggestionsFor, withSuggestion, wordAt } from '../../dashboard/src/pages/jobs/suggestions.js'

function read(typed: string): Readonly<Record<string, string>> {
  const found = readQuery(typed)
  if ('problem' in found) throw new Error(found.problem)
  return Object.fromEntries(Object.entries(found.filter).filter(([, value]) => value !== ''))
}
const problemOf = (typed: string) => (readQuery(typed) as { problem?: string }).problem

test('a line of names and values is the filter, and a word without a name is a text to look for', () => {
  expect(read('status:failed type:mail error:"time out" payload.user.id:42 age:>1h')).toEqual({
    ...{ status: 'failed', type: 'mail', text: 'time out', age: '>1h' },
    payload: '{"user":{"id":42}}',
  })
  expect(read('tag:spring tag:sale service:shop key:"ada & co" refused')).toEqual({
    ...{ tags: 'spring sale', owner: 'shop', concurrency_key: 'ada & co', text: 'refused' },
  })
  expect(read('')).toEqual({})
})

test('values of the payload are numbers where they look like one, in all their digits, unless they stand in quotes', () => {
  expect(read('payload.id:12345678901234567890 payload.code:"42" payload.on:true payload.who:ada').payload).toBe(
    '{"id":12345678901234567890,"code":"42","on":true,"who":"ada"}',
  )
  expect(read('payload:{"items":[1,2]}').payload).toBe('{"items":[1,2]}')
})

test('what is wrong is said with what would be right', () => {
  expect(problemOf('statu:failed')).toMatch(/No field is called statu; there are status/)
  expect(problemOf('status:')).toBe('status: needs a value')
  expect(problemOf('age:1h')).toBe('age is such as <15m or >2h, not 1h')
  expect(problemOf('payload.a:1 payload.a.b:2')).toMatch(/both a value and an object/)
})

test('a filter is written as it is read', () => {
  for (const typed of [
    'status:failed type:mail age:>1h age:<24h tag:a tag:b payload.user.id:42 payload.user.name:"ada l" text:"a \\"b\\""',
    'payload:{"items":[1,2]}',
    'payload.code:"42" payload.on:true',
    'payload:{"id":12345678901234567890}',
  ]) {
    const found = read(typed)
    const whole = { ...Object.fromEntries(filterFields.map((name) => [name, ''])), ...found }
    expect(read(writeQuery(whole as never))).toEqual(found)
  }
})

test('ages are times before now', () => {
  const now = Date.parse('2026-11-19T12:00:00Z')
  expect(timesOf({ age: '>1h <1d', ended: '<15m', from: '', to: '' }, now)).toEqual({
    created_after: '2026-11-18T12:00:00.000Z',
    created_before: '2026-11-19T11:00:00.000Z',
    ended_after: '2026-11-19T11:45:00.000Z',
    ended_before: undefined,
  })
})

test('what may come next is suggested for the word at the caret, and takes its place', () => {
  const known = { type: ['mail', 'mail report'] }
  expect(wordAt('status:dead ty age:<1h', 14)).toEqual({ word: 'ty', from: 12, to: 14 })
  expect(suggestionsFor('ty', known)).toEqual(['type:'])
  expect(suggestionsFor('type:rep', known)).toEqual(['type:"mail report"'])
  expect(withSuggestion('status:dead ty age:<1h', 14, 'type:')).toEqual({ text: 'status:dead type: age:<1h', caret: 17 })
  expect(withSuggestion('type:ma', 7, 'type:mail')).toEqual({ text: 'type:mail ', caret: 10 })
})
