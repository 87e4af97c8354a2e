import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { repository } from '../support/source.js'

test('a knowledge graph is fed while it is projected, and operators approve, cancel, resume, drain, tune and see', async () => {
  const { setStage } = await import(join(repository, 'examples/support/stage.mjs'))
  const { play } = await import(join(repository, 'examples/knowledge-graph/main.mjs'))
  const stage = await setStage({ databaseUrl: process.env.HOLDFAST_TEST_URL, say: () => {} })
  onTestFinished(stage.end)
  const seen = await play(stage, { chunkMs: 50, lease: '2s' })

  expect(seen.waited.gates[0].why).toMatch(/approv/)
  expect(seen.progress).toMatchObject({ fraction: expect.any(Number), note: expect.stringContaining('Moby-Dick') })
  expect([seen.projectionThen, seen.cancelled]).toEqual(['processing', 'cancelled'])
  expect(seen.slots).toMatchObject({ limit: 1, slots: [{ job: seen.projection.id }] })
  expect(seen.refused).toMatchObject({ code: 'forbidden', status: 403 })
  expect(seen.drained.gates.map((gate: { why: string }) => gate.why).join()).toMatch(/drained/)
  expect(seen.order).toEqual(['Dracula', 'Emma', 'Ulysses'])
  expect(seen.recovered.continuedAt).toBeGreaterThan(0)
  expect(seen.attempts.length).toBeGreaterThan(1)
}, 300_000)
