import { useQuery } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext } from 'react'
import type { Permission } from '../../../src/api/permissions.js'
import type { Of } from '../../../src/api/schema.js'
import type { sessionAnswer } from '../../../src/api/session.js'
import { ask, Refused } from '../api/ask.js'
import { useOfferedKey } from './offered-key.js'
import { ReplaceSession } from './replace-session.js'
import { SignIn } from './sign-in.js'

export type Session = Of<typeof sessionAnswer>

const Current = createContext<Session | undefined>(undefined)

/** Whether the person may do it. What they may not do is not offered; the server refuses it all the same. */
export function useMay(permission: Permission): boolean {
  const session = useContext(Current)
  return session?.permissions.includes(permission) === true || session?.permissions.includes('admin') === true
}

export const useSession = () => useContext(Current) as Session

/** Shows its content to somebody who is logged in, and asks everybody else for a key. */
export function SignedIn({ children }: { children: ReactNode }) {
  const offered = useOfferedKey()
  const session = useQuery({
    queryKey: ['session'],
    queryFn: () =>
      ask<Session>('session').catch((error: unknown) => {
        if (error instanceof Refused && error.status === 401) return null
        throw error
      }),
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
  })
  if (session.isPending) return <p className="unseen">Asking who you are …</p>
  if (!session.data) return <SignIn offered={offered} problem={session.error?.message} />
  if (offered !== undefined) return <ReplaceSession now={session.data.service} offered={offered} />
  return <Current value={session.data}>{children}</Current>
}
