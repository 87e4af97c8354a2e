import { done, number, numberOrNull, text, why } from './common.js'
import { answer, list, type Of, object } from './schema.js'

const settingAnswer = answer({
  name: text,
  value: number,
  standard: number,
  code: numberOrNull,
  operator: numberOrNull,
  changed: { anyOf: [done, { type: 'null' }] },
})
export const settingsAnswer = answer({ settings: list(settingAnswer) })
/** The settings of the whole installation; times are milliseconds. */
export type SettingsAnswer = Of<typeof settingsAnswer>
export const settingBody = object(
  {
    name: { type: 'string', minLength: 1, maxLength: 100, description: 'the name of a setting' },
    value: {
      type: ['string', 'number', 'null'],
      description: 'a time such as "14d", or a number; null gives the setting back to the code',
    },
    why,
  },
  ['name', 'value'],
)
/** An operator's value for a setting. */
export type SettingBody = Of<typeof settingBody>
