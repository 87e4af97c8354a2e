import { expect, test } from 'vitest'
import { controls as ofTheFuzz } from '../fuzz/controls.mjs'
import { defects } from './defects.mjs'
import { inModule, inSql } from './patches.mjs'

const patches = [...defects, ...ofTheFuzz].flatMap(({ name, patches: all }) => all.map((patch) => [name, patch.into, patch]))

test.each(patches)('the defect %s still has its place in %s', (_, __, patch) => {
  const text = patch.source()
  if (text !== undefined) expect(patch.edit(text)).not.toBe(text)
})

test('a patch that matches nothing says where it looked and for what', () => {
  for (const patch of [inSql('settle_jobs', 'nobody wrote this', ''), inModule('store/listener.js', 'nobody wrote this', '')])
    expect(() => patch.edit(patch.source())).toThrow(`${patch.into} does not hold\n  nobody wrote this`)
  expect(() => inSql('no_such_function', 'a', 'b').source()).toThrow(
    'no file of src/store/functions makes holdfast.no_such_function',
  )
})
