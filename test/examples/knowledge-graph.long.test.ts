import { join } from 'node:path'
import pg from 'pg'
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
  expect(seen.waiting.gates[0]).toMatchObject({ gate: 'lane_full' })
  // Begun anew, it would be at less than it was.
  expect(seen.resumed.fraction).toBeGreaterThan(seen.before.fraction)
  expect(seen.slots).toMatchObject({ limit: 1, slots: [{ job: seen.projection.id }] })
  expect(seen.refused).toMatchObject({ code: 'forbidden', status: 403 })
  expect(seen.drained.gates.map((gate: { why: string }) => gate.why).join()).toMatch(/drained/)
  expect(seen.order).toEqual(['Dracula', 'Emma', 'Ulysses'])
  expect(seen.recovered.continuedAt).toBeGreaterThan(0)
  expect(seen.attempts.length).toBeGreaterThan(1)

  // The document's lanes, with its types. What runs at once is not reckoned from history, where a time can be as late as the settle that wrote it.
  const pool = new pg.Pool({ connectionString: stage.connectionString })
  onTestFinished(() => pool.end())
  const { rows } = await pool.query(`
    select j.lane, array_agg(distinct j.type order by j.type) as types
    from holdfast.attempts as a join holdfast.jobs as j on j.id = a.job_id group by j.lane order by j.lane`)
  expect(rows).toEqual([
    { lane: 'interactive', types: ['ingest_image', 'ingestion', 'polarity'] },
    {
      lane: 'maintenance',
      types: ['epistemic_remeasurement', 'ontology_annealing', 'projection', 'proposal_execution', 'vocab_refresh'],
    },
    { lane: 'system', types: ['artifact_cleanup', 'restore', 'source_embedding', 'vocab_consolidate'] },
  ])
}, 300_000)
