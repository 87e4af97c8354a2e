import { expect, test } from 'vitest'
import { explained } from './explained.mjs'
import { functionsIn, sqlFunctions } from './functions.mjs'
import { kinds } from './kinds.mjs'
import { isWritable, mutantsOf } from './mutants.mjs'

/** What becomes of the one function of this body, by kind and words. */
function changes(body, language = 'plpgsql') {
  const [made] = functionsIn(
    `-- Why.\ncreate or replace function holdfast.one(p_job uuid) returns void language ${language} as $$\n${body}\n$$;`,
  )
  return mutantsOf({ file: 'one.sql', ...made }).map(({ kind, says, changed }) => ({
    kind,
    says,
    body: changed.split('$$')[1].trim(),
  }))
}
const of = (kind, body, language) =>
  changes(body, language)
    .filter((change) => change.kind === kind)
    .map((change) => change.body)

test('a condition of a WHERE is dropped, each in turn, and a single one with its WHERE', () => {
  expect(of('where', 'select 1 from t where a = 1 and (b or c) and d', 'sql')).toEqual([
    'SELECT 1 FROM t WHERE (b OR c) AND d',
    'SELECT 1 FROM t WHERE a = 1 AND d',
    'SELECT 1 FROM t WHERE a = 1 AND (b OR c)',
  ])
  expect(of('where', 'delete from t where a', 'sql')).toEqual(['DELETE FROM t'])
  expect(of('where', 'select 1 from t join u on t.a = u.a and u.b', 'sql')).toEqual([
    'SELECT 1 FROM t JOIN u ON u.b',
    'SELECT 1 FROM t JOIN u ON t.a = u.a',
  ])
})

test('a condition of an IF is dropped, and the rest of the function stays as it was written', () => {
  expect(of('condition', 'begin\n  -- So.\n  if a and c then\n    return;  end if;\nend')).toEqual([
    'begin\n  -- So.\n  if c then\n    return;  end if;\nend',
    'begin\n  -- So.\n  if a then\n    return;  end if;\nend',
  ])
})

test('a comparison says the opposite, or has another boundary', () => {
  const body = 'declare v_a boolean; begin v_a := b <= 3; end'
  expect(of('comparison', body)).toEqual(['declare v_a boolean; begin v_a := b > 3; end'])
  expect(of('boundary', body)).toEqual(['declare v_a boolean; begin v_a := b < 3; end'])
  expect(of('boundary', 'declare v_a boolean; begin v_a := b = 3; end')).toEqual([])
})

test('a lock is not taken, or is waited for where it was skipped', () => {
  expect(of('lock', 'select 1 from t for update skip locked', 'sql')).toEqual(['SELECT 1 FROM t', 'SELECT 1 FROM t FOR UPDATE'])
  expect(of('lock', 'begin perform pg_advisory_xact_lock(1); end')).toEqual(['begin perform NULL; end'])
  expect(of('lock', 'begin if not pg_try_advisory_xact_lock(1) then return; end if; end')).toEqual([
    'begin if NOT (true) then return; end if; end',
  ])
})

test('what a statement is read into stays, at its end', () => {
  const body = 'declare v_a integer; v_b integer; begin\n  select t.a, t.b\n  into v_a, v_b from t where t.c;\nend'
  expect(of('where', body)).toEqual(['declare v_a integer; v_b integer; begin\n  SELECT t.a, t.b FROM t into v_a, v_b;\nend'])
})

const all = sqlFunctions().flatMap(mutantsOf)

test('every function has its mutants, of every kind, and each has a name of its own and differs from its function', () => {
  expect([...new Set(all.map(({ kind }) => kind))].sort()).toEqual(Object.keys(kinds).sort())
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
  expect(all.filter(({ statement, changed }) => statement === changed)).toEqual([])
})

test('one piece of one function is left out, because the deparser cannot write it', () => {
  const left = sqlFunctions().filter(({ pieces }) => !pieces.every(isWritable))
  expect(left.map(({ name }) => name)).toEqual(['list_jobs'])
})

test('every explanation is one of a mutant that there is', () => {
  const there = new Set(all.map(({ name, says }) => `${name}: ${says}`))
  expect(explained.map(({ name, says }) => `${name}: ${says}`).filter((one) => !there.has(one))).toEqual([])
})
