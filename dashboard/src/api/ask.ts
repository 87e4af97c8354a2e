import { parseExactly, writeExactly } from './json.js'

/** What the server said when it refused: RFC 9457, with the field that is meant. */
export class Refused extends Error {
  readonly status: number
  readonly code: string
  readonly field: string | undefined

  constructor(status: number, problem: { code?: string; detail?: string; field?: string }) {
    super(problem.detail ?? `the server answered with status ${status}`)
    this.status = status
    this.code = problem.code ?? 'unknown'
    this.field = problem.field
  }
}

/** The server did not answer at all. */
export class Unreachable extends Error {}

export interface Question {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** A list is one parameter for each of its values. */
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>
  readonly body?: unknown
  readonly signal?: AbortSignal
}

/** Asks the server from where the page is, so that a path prefix needs no setting. */
export async function ask<Answer>(path: string, { method = 'GET', query = {}, body, signal }: Question = {}): Promise<Answer> {
  const kept = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().flatMap((one) => (one === undefined || one === '' ? [] : [[name, String(one)]])),
  )
  const search = new URLSearchParams(kept).toString()
  const response = await fetch(`./${path}${search === '' ? '' : `?${search}`}`, {
    method,
    credentials: 'same-origin',
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: writeExactly(body) }),
    ...(signal ? { signal } : {}),
  }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new Unreachable('the server does not answer')
  })
  const text = await response.text()
  const answer = readAnswer(text)
  if (!response.ok) throw new Refused(response.status, (answer ?? {}) as object)
  return answer as Answer
}

/** A proxy that cannot reach the server answers with a page of its own. */
function readAnswer(text: string): unknown {
  try {
    return text === '' ? undefined : parseExactly(text)
  } catch {
    throw new Unreachable('something between this page and the server answered instead of it')
  }
}
