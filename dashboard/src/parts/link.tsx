import type { ReactNode } from 'react'
import { addressOf, type Query } from '../routing.js'

interface LinkProps {
  readonly to: string
  readonly query?: Query
  readonly children: ReactNode
  readonly className?: string
  readonly title?: string
  readonly 'data-status'?: string
  readonly 'aria-current'?: 'page'
}

export function Link({ to, query, children, ...rest }: LinkProps) {
  return (
    <a href={addressOf(to, query)} {...rest}>
      {children}
    </a>
  )
}
