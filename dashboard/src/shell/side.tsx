import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useStatus } from '../api/answers.js'
import { ask } from '../api/ask.js'
import { type PageEntry, pages } from '../pages/index.js'
import { Connection } from '../parts/connection.js'
import { Link } from '../parts/link.js'
import { inWords } from '../parts/time.js'
import { useSession } from '../session/session.js'

interface SideProps {
  readonly path: string
  readonly openPalette: () => void
  readonly openHelp: () => void
}

/** The menu; on a phone a bar whose button unfolds it. */
export function Side({ path, openPalette, openHelp }: SideProps) {
  const [unfolded, setUnfolded] = useState(false)
  // Whoever went somewhere has no more use for the unfolded menu.
  useEffect(() => setUnfolded(false), [path])
  return (
    <header className={unfolded ? 'side unfolded' : 'side'}>
      <div className="bar">
        <Link to="/" className="brand">
          <img src="./icon.svg" alt="" width="22" height="22" /> Holdfast
        </Link>
        <button type="button" className="unfold" aria-expanded={unfolded} onClick={() => setUnfolded(!unfolded)}>
          Menu
        </button>
      </div>
      <button type="button" className="find" onClick={openPalette} aria-keyshortcuts="Control+K">
        Go to … <kbd>Ctrl K</kbd>
      </button>
      <Menu path={path} />
      <Foot openHelp={openHelp} />
    </header>
  )
}

function Menu({ path }: { path: string }) {
  const { permissions } = useSession()
  const mine = pages.filter(({ menu, needs }) => menu && mayOpen(needs, permissions))
  const headings = [...new Set(mine.map(({ menu }) => menu?.heading))]
  return (
    <nav aria-label="Pages">
      {headings.map((heading) => (
        <div key={heading}>
          <p>{heading}</p>
          <ul>
            {mine
              .filter(({ menu }) => menu?.heading === heading)
              .map(({ path: to, menu }) => (
                <li key={to}>
                  <a href={`#${to}`} aria-current={isIn(to, path) ? 'page' : undefined}>
                    {menu?.title}
                  </a>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  )
}

export const mayOpen = (needs: PageEntry['needs'], permissions: readonly string[]) =>
  needs === undefined || permissions.includes(needs) || permissions.includes('admin')

const isIn = (page: string, path: string) => path === page || (page !== '/' && path.startsWith(`${page}/`))

/** How old lists may be, where they are read from a standby. */
function ReplicaLag() {
  const { permissions } = useSession()
  const { data } = useStatus({ enabled: mayOpen('workers:view', permissions) })
  if (!data?.replica) return null
  const { used, lag_ms: lag, why } = data.replica
  if (used) return <span>replica: {lag === null ? 'lag unknown' : `${inWords(lag)} behind`}</span>
  return (
    <span className="status" data-status="failed" title={why ?? undefined}>
      replica not used
    </span>
  )
}

function Foot({ openHelp }: { openHelp: () => void }) {
  const { service } = useSession()
  const client = useQueryClient()
  const leave = async () => {
    await ask('session', { method: 'DELETE' })
    client.setQueryData(['session'], null)
    client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
  }
  return (
    <div className="person">
      <Connection />
      <ReplicaLag />
      <span className="who">{service}</span>
      <span>
        <button type="button" className="plain" onClick={openHelp}>
          Shortcuts
        </button>{' '}
        ·{' '}
        <button type="button" className="plain" onClick={leave}>
          Log out
        </button>
      </span>
    </div>
  )
}
