import { useState } from 'react'
import { permissions } from '../../../../src/api/permissions.js'
import { useStatus } from '../../api/answers.js'
import { Fact, Facts } from '../../parts/facts.js'
import { Select } from '../../parts/filter.js'
import { Card, Page } from '../../parts/page.js'
import { type Theme, useTheme } from '../../parts/theme.js'
import { Moment } from '../../parts/time.js'
import { useMay, useSession } from '../../session/session.js'
import { shortcutsAreOn, switchShortcuts } from '../../shell/shortcuts.js'
import { Installation } from './installation.js'

const themeWords = { system: 'as the system', light: 'light', dark: 'dark' }

/** What holds for the whole installation, how this browser shows things, who you are here, and what this server is. */
export function Settings() {
  const sees = useMay('workers:view')
  return (
    <Page title="Settings">
      <div className="stack">
        {sees && <Installation />}
        <div className="grid">
          <ThisBrowser />
          <You />
          <ThisServer />
        </div>
      </div>
    </Page>
  )
}

function ThisBrowser() {
  const [theme, setTheme] = useTheme()
  const [keys, setKeys] = useState(shortcutsAreOn)
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  return (
    <Card title="This browser">
      <Facts>
        <Fact name="Colours">
          <Select label="Colours" value={theme} onValue={(value) => setTheme(value as Theme)} options={themeWords} />
        </Fact>
        <Fact name="Single keys">
          <label className="check">
            <input
              type="checkbox"
              checked={keys}
              onChange={(event) => {
                switchShortcuts(event.target.checked)
                setKeys(event.target.checked)
              }}
            />
            <span>do something, such as g j</span>
          </label>
        </Fact>
        <Fact name="Time zone">{zone}; pointing at a time shows it exactly, also in UTC</Fact>
      </Facts>
    </Card>
  )
}

function You() {
  const { service, permissions: mine, types, ends_at } = useSession()
  return (
    <Card title="You">
      <Facts>
        <Fact name="Service of your key">{service}</Fact>
        <Fact name="Job types">{types === null ? 'all' : types.join(', ')}</Fact>
        <Fact name="Logged in until">{ends_at === null ? 'the key ends' : <Moment at={ends_at} />}</Fact>
      </Facts>
      <ul className="story">
        {mine.map((name) => (
          <li key={name}>
            <code>{name}</code>
            <span className="soft">{permissions[name as keyof typeof permissions] ?? ''}</span>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function ThisServer() {
  const sees = useMay('workers:view')
  const status = useStatus({ enabled: sees })
  const worker = status.data?.worker
  return (
    <Card title="This server">
      <Facts>
        <Fact name="Version of Holdfast">{status.data?.version ?? '–'}</Fact>
        <Fact name="Worker inside">
          {worker
            ? `${worker.name}: ${worker.status}${worker.reason ? `, ${worker.reason}` : ''}, ${worker.running} jobs`
            : 'none: workers are processes of their own'}
        </Fact>
        <Fact name="For machines">
          <a href="./openapi.json">openapi.json</a> · <a href="./metrics">metrics</a> · <a href="./healthz">healthz</a> ·{' '}
          <a href="./readyz">readyz</a>
        </Fact>
      </Facts>
    </Card>
  )
}
