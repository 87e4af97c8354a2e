// The jobs of the graph, in the three lanes that every installation has: interactive (2 slots), maintenance (1) and system (1).
import { setTimeout as sleep } from 'node:timers/promises'
import { defineType } from 'holdfast'
import { z } from 'zod'

const chunkMs = Number(process.env.CHUNK_MS ?? 200)

/** Adds a text to the graph, chunk by chunk. Somebody has to approve it first; people wait for it, so it comes before upkeep. */
export const ingestion = defineType({
  type: 'ingestion',
  payload: z.object({ title: z.string(), chunks: z.number() }),
  lane: 'interactive',
  priority: 7,
  approval: true,
  async run({ title, chunks }, ctx) {
    const from = (await ctx.lastCheckpoint()) ?? 0
    for (let chunk = from; chunk < chunks; chunk++) {
      await sleep(chunkMs, undefined, { signal: ctx.signal })
      await ctx.checkpoint(chunk + 1)
      ctx.progress((chunk + 1) / chunks, `${title}: chunk ${chunk + 1} of ${chunks}`)
    }
    return { ingested: chunks - from, continuedAt: from }
  },
})

/** Computes for seconds without a pause: in a thread of its own it keeps nobody from working. Between two rounds it can be cancelled. */
export const projection = defineType({
  type: 'projection',
  payload: z.object({ rounds: z.number() }),
  lane: 'maintenance',
  priority: 3,
  isolation: 'thread',
  async run({ rounds }, ctx) {
    const from = (await ctx.lastCheckpoint()) ?? 0
    for (let round = from; round < rounds; round++) {
      ctx.signal.throwIfAborted()
      for (const end = performance.now() + chunkMs; performance.now() < end; ) Math.hypot(Math.random(), Math.random())
      await ctx.checkpoint(round + 1)
      ctx.progress((round + 1) / rounds, `round ${round + 1} of ${rounds}`)
    }
    return { computed: rounds - from, continuedAt: from }
  },
})

const short = (type, lane) => defineType({ type, lane, priority: lane === 'interactive' ? 7 : 3, run: () => sleep(chunkMs) })
export const ingestImage = short('ingest_image', 'interactive')
export const polarity = short('polarity', 'interactive')
export const vocabRefresh = short('vocab_refresh', 'maintenance')
export const epistemicRemeasurement = short('epistemic_remeasurement', 'maintenance')
export const ontologyAnnealing = short('ontology_annealing', 'maintenance')
export const proposalExecution = short('proposal_execution', 'maintenance')
export const restore = short('restore', 'system')
export const vocabConsolidate = short('vocab_consolidate', 'system')
export const artifactCleanup = short('artifact_cleanup', 'system')
export const sourceEmbedding = short('source_embedding', 'system')
