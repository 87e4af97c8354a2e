import type { SettingsAnswer } from '../../../../src/api/settings.js'
import { ask } from '../../api/ask.js'
import { useAnswer } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { Field, given } from '../../parts/fields.js'
import { Card, Loaded } from '../../parts/page.js'
import { Table } from '../../parts/table.js'
import { asDuration, inWords, Moment } from '../../parts/time.js'

type Setting = SettingsAnswer['settings'][number]

/** What each decides, in the order in which people look for it. */
const words: Readonly<Record<string, string>> = {
  retention_completed: 'Completed, cancelled and discarded jobs are kept for',
  retention_dead: 'Dead letters and errors are kept for',
  retention_audit: 'The audit log is kept for',
  retention_keys: 'Idempotency keys are kept for',
  lease: 'A worker that is silent loses its jobs after',
  remote_grace: 'A remote worker may be silent for',
  max_snoozes: 'A job may put itself off so often',
  max_hand_backs: 'A job may be handed back so often',
  archive_first: 'Days are dropped only when they are archived (1: yes, 0: no)',
}

const order = Object.keys(words)
const counts = new Set(['max_snoozes', 'max_hand_backs', 'archive_first'])

/** Settings of the whole installation: what counts, who said it, and the standard. */
export function Installation() {
  const settings = useAnswer<SettingsAnswer>('admin/settings', {}, { everyMs: 5_000 })
  return (
    <Card title="This installation">
      <Loaded query={settings}>
        {({ settings: rows }) => (
          <Table
            label="This installation"
            rows={[...rows].sort((one, other) => order.indexOf(one.name) - order.indexOf(other.name))}
            keyOf={({ name }) => name}
            empty=""
            columns={[
              {
                name: 'Setting',
                cell: ({ name }) => (
                  <>
                    {words[name] ?? name}
                    <span className="second">
                      <code>{name}</code>
                    </span>
                  </>
                ),
              },
              { name: 'Counts', number: true, cell: (setting) => <b>{inUnit(setting, setting.value)}</b> },
              { name: 'Standard', number: true, cell: (setting) => inUnit(setting, setting.standard) },
              { name: 'The code says', number: true, cell: (setting) => inUnit(setting, setting.code) },
              { name: 'Changed', cell: (setting) => <Changed setting={setting} /> },
            ]}
            acts={(setting) => (
              <>
                <Change setting={setting} />
                {setting.operator !== null && <GiveBack setting={setting} />}
              </>
            )}
          />
        )}
      </Loaded>
    </Card>
  )
}

function Changed({ setting: { changed } }: { setting: Setting }) {
  if (changed === null) return <span className="soft">never</span>
  return (
    <>
      by {changed.by} <Moment at={changed.at} />
      {changed.why && <span className="second">{changed.why}</span>}
    </>
  )
}

const inUnit = ({ name }: Setting, value: number | null) => (value === null ? '–' : counts.has(name) ? value : inWords(value))

function Change({ setting }: { setting: Setting }) {
  const { name, value } = setting
  const isCount = counts.has(name)
  return (
    <Act
      name="Change"
      title={words[name] ?? name}
      says={
        name.startsWith('retention')
          ? 'What is older is deleted by the next upkeep, and cannot be taken back.'
          : 'It counts for all workers, whatever the code says, until it is given back.'
      }
      needs="admin"
      {...(name.startsWith('retention') && { typed: name })}
      send={({ value: text, why }) =>
        ask('admin/settings', {
          method: 'PUT',
          body: { name, value: isCount ? Number(text) : (text ?? ''), why: given(why) },
        })
      }
      done="The setting is changed"
    >
      <Field
        name="value"
        label={isCount ? 'How often' : 'How long, such as 14d or 90s'}
        {...(isCount && { type: 'number', min: 1 })}
        defaultValue={isCount ? value : asDuration(value)}
        required
      />
    </Act>
  )
}

function GiveBack({ setting: { name, code, standard } }: { setting: Setting }) {
  return (
    <Act
      name="Give back"
      title={`Give ${name} back to the code?`}
      says={`Then ${counts.has(name) ? (code ?? standard) : inWords(code ?? standard)} counts.`}
      needs="admin"
      send={({ why }) => ask('admin/settings', { method: 'PUT', body: { name, value: null, why: given(why) } })}
      done="What the code says counts again"
    />
  )
}
