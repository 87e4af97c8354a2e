import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { HoldfastError } from '../../errors.js'
import { askedPath } from '../prefix.js'

const folder = new URL('../../dashboard/', import.meta.url)
const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

/** Asked for again each time, so that after an upgrade no old script talks to a new server. */
const checked = 'no-cache'
/** Its name has a hash of what is in it: another content has another name. */
const forever = 'public, max-age=31536000, immutable'

/** The files of the dashboard. They hold no data, so they need no key; the page asks for one. */
export function pageRoutes(app: FastifyInstance): void {
  const index = fileOf('index.html', checked)
  const icon = fileOf('icon.svg', checked)
  const assets = new Map(namesIn('assets/').map((name) => [name, fileOf(`assets/${name}`, forever)]))

  app.get('/', async (request, reply) => {
    const asked = askedPath(request.raw)
    // The page names its files from where it is, so under a prefix its address has to end with a slash.
    if (!asked.endsWith('/')) return reply.redirect(`${asked.slice(asked.lastIndexOf('/') + 1)}/`, 308)
    return send(request, reply, index)
  })
  app.get('/icon.svg', async (request, reply) => send(request, reply, icon))
  app.get<{ Params: { file: string } }>('/assets/:file', async (request, reply) =>
    send(request, reply, assets.get(request.params.file)),
  )
}

interface PageFile {
  readonly type: string
  readonly content: Buffer
  readonly zipped: Buffer
  readonly etag: string
  readonly cache: string
}

const namesIn = (path: string) => (existsSync(new URL(path, folder)) ? readdirSync(new URL(path, folder)) : [])

/** Undefined where this build has no dashboard. */
function fileOf(path: string, cache: string): PageFile | undefined {
  if (!existsSync(new URL(path, folder))) return undefined
  const content = readFileSync(new URL(path, folder))
  const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
  return {
    type: types[path.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
    content,
    zipped: gzipSync(content),
    etag,
    cache,
  }
}

function send(request: FastifyRequest, reply: FastifyReply, file: PageFile | undefined): FastifyReply {
  if (!file) throw new HoldfastError('not_found', 'this build of Holdfast has no such file of the dashboard')
  reply.headers({ etag: file.etag, 'cache-control': file.cache, vary: 'accept-encoding' })
  if (request.headers['if-none-match'] === file.etag) return reply.status(304).send()
  reply.type(file.type)
  if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(file.content)
  return reply.header('content-encoding', 'gzip').send(file.zipped)
}
