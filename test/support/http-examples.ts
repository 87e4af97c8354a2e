import { expect } from 'vitest'

export interface HttpExample {
  method: string
  path: string
  body: unknown
  status: number
  answer: string
}

/** The blocks of a page that show a request and, after an empty line, its answer: the status, and JSON or the lines of a stream. */
export function httpExamples(page: string): HttpExample[] {
  return [...page.matchAll(/```http\n([\s\S]*?)```/g)].map(([, block = '']) => {
    const [asked = '', answered = ''] = block.split(/\n\n(?=\d{3}\n)/)
    const [first = '', ...body] = asked.split('\n')
    const [method = '', path = ''] = [first.slice(0, first.indexOf(' ')), first.slice(first.indexOf(' ') + 1)]
    const text = body.join('\n').trim()
    const [status = '', ...answer] = answered.split('\n')
    return { method, path, body: text === '' ? undefined : JSON.parse(text), status: Number(status), answer: answer.join('\n') }
  })
}

/** With what is known by name in place of `{name}`. */
export function filled(text: string, known: Record<string, string>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => known[name] ?? whole)
}

/** Holds an answer to the one on the page, in which `…` stands for anything. A stream has the lines of the page in their order. */
export function expectAnswer(shown: string, given: string, where: string): void {
  if (shown.startsWith('{')) return expect(JSON.parse(given), where).toMatchObject(wanted(JSON.parse(shown)) as object)
  const lines = given.split('\n').filter((line) => /^(event|data):/.test(line))
  let at = 0
  for (const line of shown.trim().split('\n')) {
    const found = lines.findIndex((each, place) => place >= at && like(line).test(each))
    expect(found, `${where} has ${line}\n${lines.join('\n')}`).toBeGreaterThanOrEqual(0)
    at = found + 1
  }
}

function wanted(shown: unknown): unknown {
  if (typeof shown === 'string') return shown.includes('…') ? expect.stringMatching(like(shown)) : shown
  if (Array.isArray(shown)) return shown.map(wanted)
  if (typeof shown !== 'object' || shown === null) return shown
  return Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, wanted(value)]))
}

function like(shown: string): RegExp {
  const parts = shown.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[\\s\\S]*')}$`)
}
