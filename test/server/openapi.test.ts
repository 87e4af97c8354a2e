import { createConfig, lintFromString } from '@redocly/openapi-core'
import { rules } from 'holdfast/server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Serving, serve } from '../support/serving.js'

let serving: Serving
let source: string
beforeAll(async () => {
  serving = await serve()
  source = await (await serving.call('GET', '/openapi.json')).text()
})
afterAll(() => serving.end())

async function problemsOf(text: string): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended-strict'] })
  const problems = await lintFromString({ source: text, absoluteRef: 'openapi.json', config })
  return problems.map(({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer}: ${message}`)
}

test('/openapi.json passes a linter with its strictest rules', async () => {
  // These two answer with a redirect alone.
  const redirects = ['/get', '~1callback/get'].map((path) => `operation-2xx-response #/paths/~1session~1oidc${path}/responses`)
  const problems = (await problemsOf(source)).filter((problem) => !redirects.some((one) => problem.startsWith(one)))
  expect(problems).toEqual([])
  // And the linter would say so if it did not.
  const broken = JSON.parse(source)
  broken.paths['/jobs'].post.responses = {}
  expect(await problemsOf(JSON.stringify(broken))).not.toEqual([])
})

test('/openapi.json describes every route that is not a file of the page, with the permission it needs', () => {
  const { paths } = JSON.parse(source) as { paths: Record<string, Record<string, { description: string }>> }
  for (const [route, rule] of Object.entries(rules)) {
    const [method = '', path = ''] = route.split(' ')
    if (path === '/' || path === '/icon.svg' || path.startsWith('/assets/')) continue
    const operation = paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
    expect(operation?.description, route).toContain(rule === 'open' ? 'no key' : rule === 'any key' ? 'any key' : rule)
  }
})
