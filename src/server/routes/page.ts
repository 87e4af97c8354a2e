import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fileBesideCode } from '../../code-files.js'
import { HoldfastError } from '../../errors.js'
import { askedPath } from '../prefix.js'

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

/** The files of the dashboard, read and zipped once in a process. No name from outside becomes a path: it is looked up here. */
let files: ReadonlyMap<string, PageFile> | undefined

/** The dashboard. Its files hold no data, so they need no key; the page asks for one. */
export function pageRoutes(app: FastifyInstance): void {
  files ??= readDashboard()
  const dashboard = files

  app.get('/', async (request, reply) => {
    const asked = askedPath(request.raw)
    // The page names its files from where it is, so under a prefix its address has to end with a slash.
    if (!asked.endsWith('/')) return reply.redirect(`${asked.slice(asked.lastIndexOf('/') + 1)}/`, 308)
    return send(request, reply, dashboard.get('index.html'))
  })
  app.get('/icon.svg', async (request, reply) => send(request, reply, dashboard.get('icon.svg')))
  app.get<{ Params: { file: string } }>('/assets/:file', async (request, reply) =>
    send(request, reply, dashboard.get(`assets/${request.params.file}`)),
  )
}

interface PageFile {
  readonly type: string
  readonly content: Buffer
  readonly zipped: Buffer
  readonly etag: string
  readonly cache: string
}

/** Empty where this build has no dashboard. */
function readDashboard(): ReadonlyMap<string, PageFile> {
  const page = fileBesideCode('dashboard/index.html')
  if (!page) return new Map()
  const assets = readdirSync(new URL('assets/', page)).map((name) => fileOf(page, `assets/${name}`, forever))
  return new Map([fileOf(page, 'index.html', checked), fileOf(page, 'icon.svg', checked), ...assets])
}

function fileOf(folder: URL, path: string, cache: string): [string, PageFile] {
  const content = readFileSync(new URL(path, folder))
  const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
  const type = types[path.split('.').at(-1) ?? ''] ?? 'application/octet-stream'
  return [path, { type, content, zipped: gzipSync(content), etag, cache }]
}

function send(request: FastifyRequest, reply: FastifyReply, file: PageFile | undefined): FastifyReply {
  if (!file) {
    const none = files?.size
      ? 'the dashboard has no such file'
      : 'the files of the dashboard are not here: put node_modules/holdfast/dist/dashboard beside what was bundled, or leave holdfast out of the bundle'
    throw new HoldfastError('not_found', none)
  }
  reply.headers({ etag: file.etag, 'cache-control': file.cache, vary: 'accept-encoding' })
  if (request.headers['if-none-match'] === file.etag) return reply.status(304).send()
  reply.type(file.type)
  if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(file.content)
  return reply.header('content-encoding', 'gzip').send(file.zipped)
}
