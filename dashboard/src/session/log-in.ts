import { useMutation, useQueryClient } from '@tanstack/react-query'
import { ask } from '../api/ask.js'
import { say } from '../parts/said.js'
import { forgetOfferedKey } from './offered-key.js'
import type { Session } from './session.js'

/** Exchanges a key for a session. The page does not keep the key. */
export function useLogIn() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (key: string) => ask<Session>('session', { method: 'POST', body: { key } }),
    onSuccess: (session) => {
      // What was seen with another key may not be for this one.
      client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
      client.setQueryData(['session'], session)
    },
    onError: ({ message }) => say(`Not logged in: ${message}`),
    onSettled: forgetOfferedKey,
  })
}
