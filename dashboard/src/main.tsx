import './styles/tokens.css'
import './styles/base.css'
import './styles/shell.css'
import './styles/parts.css'
import './styles/tables.css'
import './styles/forms.css'
import './styles/states.css'
import './styles/pages.css'
import './styles/jobs.css'
import './styles/charts.css'
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Refused } from './api/ask.js'
import { applyTheme } from './parts/theme.js'
import { SignedIn } from './session/session.js'
import { Shell } from './shell/shell.js'

applyTheme()

const client: QueryClient = new QueryClient({
  // A session that has ended, or whose key was revoked: the reader is asked for a key again, and stays on the page.
  queryCache: new QueryCache({
    onError: (error) => {
      if (error instanceof Refused && error.status === 401) client.setQueryData(['session'], null)
    },
  }),
  defaultOptions: {
    queries: {
      refetchInterval: 2_000,
      // A refusal stays one; a server that restarts is asked again until it is back.
      retry: (_, error) => !(error instanceof Refused),
      retryDelay: (tries) => Math.min(500 * 2 ** tries, 5_000),
      networkMode: 'always',
      placeholderData: (before: unknown) => before,
    },
  },
})

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <SignedIn>
        <Shell />
      </SignedIn>
    </QueryClientProvider>
  </StrictMode>,
)
