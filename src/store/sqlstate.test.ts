import { describe, expect, test } from 'vitest'
import { explained, isConnectionTrouble, isRefusal, isWorthAnotherTry } from './sqlstate.js'

const withCode = (code: string) => Object.assign(new Error(''), { code })

describe('trouble with the connection', () => {
  test.each(['08006', '57P01', '57P03', '53300', '25006', '57014', 'ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENETDOWN'])(
    '%s is',
    (code) => {
      expect(isConnectionTrouble(withCode(code))).toBe(true)
      expect(isWorthAnotherTry(withCode(code))).toBe(true)
      expect(isRefusal(withCode(code))).toBe(false)
    },
  )

  test.each(['23505', '42P01', '22P05', 'HF001', '40P01'])('%s is not', (code) => {
    expect(isConnectionTrouble(withCode(code))).toBe(false)
  })

  test.each([undefined, null, 'a string', 7, {}])('%j is not, and breaks nothing', (error) => {
    expect([isConnectionTrouble(error), isRefusal(error), isWorthAnotherTry(error)]).toEqual([false, false, false])
  })
})

test('only what the values themselves make impossible is a refusal', () => {
  for (const code of ['21000', '22P05', '22021', '23505', 'HF002']) expect(isRefusal(withCode(code)), code).toBe(true)
  expect(isRefusal(Object.assign(withCode('23514'), { constraint: 'priority_is_0_to_9' }))).toBe(true)
  // Without a name it is the check of a partition that was put in place just then.
  expect(isRefusal(withCode('23514'))).toBe(false)
  // Repaired by somebody else, sooner or later: a missing function, a full disk, a lock, a password, a state nobody knows.
  for (const code of ['42883', '42501', '53100', '55P03', '28P01', '40P01', 'XX000', 'ERR_SOMETHING', '']) {
    expect(isRefusal(withCode(code)), code).toBe(false)
  }
})

test('a deadlock is worth another try, a duplicate is not', () => {
  expect(isWorthAnotherTry(withCode('40P01'))).toBe(true)
  expect(isWorthAnotherTry(withCode('23505'))).toBe(false)
})

test.each(['HF001', 'HF005'])('%s names what was asked for as the server says it, whatever its message looks like', (code) => {
  const [asked, known] = ['hi, "ada"', ['hi, "adda"', 'hi', '"bob"']]
  const said = { message: 'there is "none" of that name', detail: JSON.stringify({ asked, known }) }
  expect(explained(Object.assign(withCode(code), said))).toMatchObject({
    message: expect.stringContaining('did you mean "hi, "adda""'),
    issues: [{ value: asked }],
  })
})

test('a value that a constraint refuses is told by what the constraint holds to', () => {
  const error = Object.assign(withCode('23514'), { constraint: 'soft_is_below_hard' })
  expect(explained(error)).toMatchObject({
    code: 'invalid_option',
    message: 'a value breaks the rule "soft is below hard" of the database',
  })
})
