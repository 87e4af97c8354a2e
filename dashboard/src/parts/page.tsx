import type { UseQueryResult } from '@tanstack/react-query'
import { type ReactNode, useEffect } from 'react'
import { Refused, Unreachable } from '../api/ask.js'
import { Skeleton } from './skeleton.js'

/** A page: its title, what stands beside it, and its content. */
export function Page({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Holdfast`
  }, [title])
  return (
    <main className="page" id="content" tabIndex={-1}>
      <header>
        <h1>{title}</h1>
        {aside && <div className="aside">{aside}</div>}
      </header>
      {children}
    </main>
  )
}

export function Card({ title, aside, children }: { title?: ReactNode; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className="card">
      {title && (
        <header>
          <h2>{title}</h2>
          {aside && <div className="aside">{aside}</div>}
        </header>
      )}
      {children}
    </section>
  )
}

/** What a query came to: its data; before there is any, a word; and where it failed, why, and what to do. */
export function Loaded<Data>({ query, children }: { query: UseQueryResult<Data>; children: (data: Data) => ReactNode }) {
  if (query.data !== undefined) return <>{children(query.data)}</>
  if (query.isPending && query.fetchStatus !== 'paused') return <Skeleton />
  return <Problem error={query.error} />
}

export function Problem({ error }: { error: unknown }) {
  return (
    <p role="alert" className="notice" data-status="dead">
      {sayWhatToDo(error)}
    </p>
  )
}

function sayWhatToDo(error: unknown): string {
  if (error instanceof Unreachable)
    return 'The server does not answer. This page tries again by itself; nothing has to be reloaded.'
  if (error instanceof Refused && error.status === 403) return `Your key may not see this: ${error.message}.`
  return error instanceof Error ? error.message : 'Something went wrong.'
}
