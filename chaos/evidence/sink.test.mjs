import { expect, test } from 'vitest'
import { EffectSink, reachSink, serveSink } from './sink.mjs'

test('the sink takes one effect of a job and none from an attempt older than one it has seen', () => {
  const sink = new EffectSink()
  expect(sink.open('j', '5')).toBe('open')
  expect(sink.open('j', '10')).toBe('open')
  expect(sink.write('j', '5')).toBe('stale')
  expect(sink.write('j', '10')).toBe('accepted')
  expect(sink.write('j', '11')).toBe('already')
  expect(sink.write('j', '10')).toBe('stale')
  expect(sink.write('k', '1')).toBe('accepted')
})

test('the sink answers the same to another process', async () => {
  const served = await serveSink(new EffectSink())
  const sink = reachSink(served.port)
  expect(await sink.write('j', 5n)).toBe('accepted')
  expect(await sink.write('j', 4n)).toBe('stale')
  sink.close()
  await served.close()
})
