import { describe, expect, test } from 'vitest'
import { channelName, checkSchemaName, inSchema } from './schema-name.js'

describe('SQL for a schema of another name', () => {
  test('is the same text for the default one', () => {
    expect(inSchema('select holdfast.now()', 'holdfast')).toBe('select holdfast.now()')
  })

  test('has that name before every table, function, lock and channel', () => {
    const sql = `select holdfast.now() from holdfast.queue where pg_notify('holdfast.lane_1', '') is null and x = 'holdfast'::regnamespace`
    expect(inSchema(sql, 'jobs_eu')).toBe(
      `select jobs_eu.now() from jobs_eu.queue where pg_notify('jobs_eu.lane_1', '') is null and x = 'jobs_eu'::regnamespace`,
    )
  })

  test('is quoted where it has to be, and rendering it twice changes nothing', () => {
    const once = inSchema('select from holdfast.queue', 'Jobs EU')
    expect(once).toBe('select from "Jobs EU".queue')
    expect(inSchema(once, 'Jobs EU')).toBe(once)
  })

  test('is where functions with the rights of their owner look for names', () => {
    expect(inSchema('set search_path = holdfast, pg_temp', 'Jobs EU')).toBe('set search_path = "Jobs EU", pg_temp')
  })

  test('leaves job types, settings and words that only look alike as they are', () => {
    const sql = `select 'holdfast:alert', 'holdfast', myholdfast.x, current_setting('holdfast.notify', true)`
    expect(inSchema(sql, 'other')).toBe(sql)
  })

  test('has channels that fit into 63 bytes with the longest name', () => {
    expect(Buffer.byteLength(channelName('Ü'.repeat(20), 'worker', 2_147_483_647))).toBeLessThanOrEqual(63)
  })
})

test.each(['', 'a"b', "a'b", 'a$b', 'a\\b', 'pg_jobs', 'x'.repeat(41), 'line\nbreak'])(
  '%j is refused as a schema name',
  (name) => {
    expect(() => checkSchemaName(name)).toThrow(/^schema "/)
  },
)
