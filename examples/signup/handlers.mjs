// What happens after a signup, each by itself: a welcome mail, an avatar, the CRM, a PDF. And two kinds of bulk work.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineType, FatalError } from 'holdfast'
import { z } from 'zod'
import { sendMail } from './mail.mjs'

const { SMTP_PORT, OUTSIDE_URL, OBJECT_STORE } = process.env
const backoff = { base: process.env.BACKOFF ?? '10s', factor: 2, cap: '5m' }
const user = z.object({ user: z.number(), email: z.string() })

const store = async (name, bytes) => {
  await mkdir(OBJECT_STORE, { recursive: true })
  await writeFile(join(OBJECT_STORE, name), bytes)
}
const post = async (path, body, signal) => {
  const answer = await fetch(`${OUTSIDE_URL}${path}`, { method: 'POST', body: JSON.stringify(body), signal })
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`)
}

/** People wait for it. The breaker opens when every second mail fails, and tries one now and then until the server is back. */
export const sendEmail = defineType({
  type: 'send_email',
  payload: user,
  priority: 7,
  maxAttempts: 20,
  backoff,
  limits: { breaker: { share: 0.5, minimum: 5, window: '30s', probe: process.env.PROBE ?? '1m' } },
  async run({ email }, { job, signal }) {
    // What the build of the story `canary` has wrong.
    if (process.env.BROKEN_MAIL) throw new FatalError('the template has no field "name"')
    await sendMail({ port: SMTP_PORT, to: email, id: `<${job.id}@signup>`, text: 'Welcome!', signal })
  },
})

/** Decoding an image may take all memory there is: in a process of its own, only this job dies of it. */
export const resizeAvatar = defineType({
  type: 'resize_avatar',
  payload: z.object({ user: z.number(), image: z.string() }),
  isolation: 'process',
  memory: 96,
  maxAttempts: 3,
  backoff,
  async run({ user, image }) {
    const pixels = []
    while (image === 'a bomb') pixels.push(Buffer.alloc(8_000_000, 1))
    await store(`avatar-${user}.png`, `64×64 of ${image}`)
  },
})

/** A slow CRM takes two slots of the fleet, and not one more. */
export const syncCrm = defineType({
  type: 'sync_crm',
  payload: user,
  timeout: process.env.CRM_TIMEOUT ?? '30s',
  backoff,
  limits: { maxRunning: 2 },
  run: ({ user, email }, { signal }) => post('/contacts', { user, email }, signal),
})

export const makePdf = defineType({
  type: 'make_pdf',
  payload: user,
  backoff,
  run: ({ user }) => store(`welcome-${user}.pdf`, `%PDF-1.4 for user ${user}`),
})

/** A row of an import: never before anything that a person waits for. */
export const importRow = defineType({
  type: 'import_row',
  payload: z.object({ row: z.number() }),
  priority: 1,
  run: () => sleep(5),
})

/** A partner takes a hundred a minute; in the example, as many a second. */
export const deliverWebhook = defineType({
  type: 'deliver_webhook',
  payload: z.object({ event: z.number() }),
  limits: { rate: { count: 100, per: process.env.RATE_PER ?? '1m' } },
  run: ({ event }, { signal }) => post('/deliver', { event }, signal),
})

/** One of a thousand; some have an address that nobody can deliver to. */
export const notifySubscriber = defineType({
  type: 'notify_subscriber',
  payload: z.object({ subscriber: z.number() }),
  async run({ subscriber }) {
    await sleep(50)
    if (subscriber % 100 === 0) throw new FatalError('no such address')
  },
})
export const reportFanOut = defineType({ type: 'report_fan_out', payload: z.object({ news: z.string() }), run: async () => {} })
