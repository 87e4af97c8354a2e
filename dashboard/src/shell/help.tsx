import { pages } from '../pages/index.js'
import { Dialog } from '../parts/dialog.js'
import { keysOfPage, shortcutsAreOn } from './shortcuts.js'

/** Every key that does something. */
export function Help({ close }: { close: () => void }) {
  const toPages = pages.flatMap(({ menu }) => (menu ? [[`g ${menu.key}`, menu.title] as const] : []))
  return (
    <Dialog title="Shortcuts" onClose={close} wide>
      {!shortcutsAreOn() && <p className="notice">The keys are switched off in the settings; only Ctrl K works.</p>}
      <div className="grid">
        <KeyList entries={toPages} />
        <KeyList entries={Object.entries(keysOfPage)} />
      </div>
      <footer>
        <button type="button" onClick={close}>
          Close
        </button>
      </footer>
    </Dialog>
  )
}

function KeyList({ entries }: { entries: readonly (readonly [string, string])[] }) {
  return (
    <dl className="keys">
      {entries.map(([key, does]) => (
        <div key={key}>
          <dt>
            {key.split(' ').map((one) => (
              <kbd key={one}>{one}</kbd>
            ))}
          </dt>
          <dd>{does}</dd>
        </div>
      ))}
    </dl>
  )
}
