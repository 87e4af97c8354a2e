// What the ingesting server and the workers share: the job type, and the tables of the application.
import { defineType } from 'holdfast'
import { z } from 'zod'

/** How much faster than in production the example waits: with 60, a minute takes a second. */
const speed = Number(process.env.SPEED ?? 1)
const atSpeed = (seconds) => `${Math.max(1, Math.round((seconds * 1000) / speed))}ms`

/**
 * The wait after attempt n is min(30 s · 2ⁿ, 600 s); after five attempts a person has to look. The events and the end of the job are
 * committed together: a worker that dies on the way leaves neither.
 */
export const extractEvents = (pool) =>
  defineType({
    type: 'extract_events',
    payload: z.object({ artifact: z.string().max(60), revision: z.string() }),
    maxAttempts: 5,
    backoff: { base: atSpeed(60), factor: 2, cap: atSpeed(600), jitter: 0 },
    timeout: '2m',
    async run({ artifact, revision }, ctx) {
      const of = [artifact, revision]
      const { rows } = await pool.query('select text from artifact_revision where artifact = $1 and revision = $2', of)
      const answer = await fetch(process.env.EXTRACTOR_URL, { method: 'POST', body: rows[0].text, signal: ctx.signal })
      if (!answer.ok) throw new Error(`the extractor answered ${answer.status}`)
      const events = await answer.json()
      return ctx.completeWith(async (tx) => {
        const insert =
          'insert into event (artifact, revision, position, what) select $1, $2, n, what from unnest($3::text[]) with ordinality as e (what, n)'
        await tx.query(insert, [...of, events])
        return { events: events.length }
      })
    },
  })

export const tables = `
  create table artifact_revision (artifact text, revision text, text text not null, primary key (artifact, revision));
  create table event (
    artifact text, revision text, position int, what text not null,
    primary key (artifact, revision, position), foreign key (artifact, revision) references artifact_revision
  )`
