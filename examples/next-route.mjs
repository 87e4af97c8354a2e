// A route handler as Next.js, Remix and others call it: a Request in, a Response out. In Next.js it is app/api/welcome/route.js, and
// next.config.js has serverExternalPackages: ['holdfast'].
import { HoldfastError } from 'holdfast'
import { holdfast, sendEmail } from './jobs.mjs'

export async function POST(request) {
  try {
    const { to } = await request.json()
    const { id, status } = await holdfast.enqueue(sendEmail, { to }, { idempotencyKey: `welcome:${to}` })
    return Response.json({ id }, { status: status === 'created' ? 201 : 200 })
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error
    return Response.json({ code: error.code, detail: error.message }, { status: error.status })
  }
}
