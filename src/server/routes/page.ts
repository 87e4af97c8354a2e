import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { askedPath } from '../prefix.js'

const folder = new URL('../page/', import.meta.url)
const files = {
  '/': [['index.html'], 'text/html; charset=utf-8'],
  '/page/page.js': [['page.js'], 'text/javascript; charset=utf-8'],
  // One answer of five files, in this order: later rules win.
  '/page/page.css': [['base.css', 'panels.css', 'tables.css', 'forms.css', 'narrow.css'], 'text/css; charset=utf-8'],
  '/page/icon.svg': [['icon.svg'], 'image/svg+xml'],
} as const

/** The status page's files. They hold no data, so they need no key; the page asks for one. */
export function pageRoutes(app: FastifyInstance): void {
  for (const [path, [names, type]] of Object.entries(files)) {
    const content = Buffer.concat(names.map((name) => readFileSync(new URL(name, folder))))
    const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
    app.get(path, async (request, reply) => {
      const asked = askedPath(request.raw)
      // The page names its files from where it is, so under a prefix its address has to end with a slash.
      if (path === '/' && !asked.endsWith('/')) return reply.redirect(`${asked.slice(asked.lastIndexOf('/') + 1)}/`, 308)
      // Browsers revalidate it every time, so that after an upgrade no old script talks to a new server.
      reply.headers({ etag, 'cache-control': 'no-cache' })
      if (request.headers['if-none-match'] === etag) return reply.status(304).send()
      return reply.type(type).send(content)
    })
  }
}
