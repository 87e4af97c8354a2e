import { Suspense, useEffect, useState } from 'react'
import { pages } from '../pages/index.js'
import { Link } from '../parts/link.js'
import { Page } from '../parts/page.js'
import { SaidLately } from '../parts/said.js'
import { match, useRoute } from '../routing.js'
import { useMay, useSession } from '../session/session.js'
import { CaughtProblem } from './caught.js'
import { Help } from './help.js'
import { Palette } from './palette.js'
import { useShortcuts } from './shortcuts.js'
import { Side } from './side.js'

/** The menu beside the page that the address names. */
export function Shell() {
  const { path } = useRoute()
  const [open, setOpen] = useState<'palette' | 'help'>()
  useShortcuts(setOpen)
  // A new page is read from its top.
  useEffect(() => {
    window.scrollTo(0, 0)
  }, [path])
  return (
    <div className="shell">
      <button type="button" className="skip" onClick={() => document.getElementById('content')?.focus()}>
        Skip to the content
      </button>
      <Side path={path} openPalette={() => setOpen('palette')} openHelp={() => setOpen('help')} />
      <CaughtProblem key={path}>
        <Suspense fallback={<main className="page" />}>
          <Shown path={path} />
        </Suspense>
      </CaughtProblem>
      {open === 'palette' && <Palette close={() => setOpen(undefined)} />}
      {open === 'help' && <Help close={() => setOpen(undefined)} />}
      <SaidLately />
    </div>
  )
}

function Shown({ path }: { path: string }) {
  const admin = useMay('admin')
  const { permissions } = useSession()
  for (const page of pages) {
    const named = match(page.path, path)
    if (!named) continue
    if (page.needs === undefined || admin || permissions.includes(page.needs)) return page.show(named)
    return <NotYours needs={page.needs} />
  }
  return (
    <Page title="Nothing here">
      <p className="empty">
        No page has the address <code>{path}</code>. The menu names all there are.
      </p>
    </Page>
  )
}

function NotYours({ needs }: { needs: string }) {
  const { service } = useSession()
  return (
    <Page title="Not with this key">
      <p className="empty">
        This page needs the permission <code>{needs}</code>, which the key of {service} does not have. An administrator can give
        it a role that has; what the key may do stands in the <Link to="/settings">settings</Link>.
      </p>
    </Page>
  )
}
