import { showValue } from '../job/failure.js'
import { misconfigured } from '../job/refused.js'

/** Where people look at traces: an address with `{trace}` where the id of one belongs. */
export function checkTraceUrl(template: string, field: string): string {
  const example = 'such as https://traces.example.com/trace/{trace}'
  const wrong = (problem: string) => misconfigured(field, `is ${showValue(template)}; ${problem}, ${example}`)
  if (typeof template !== 'string' || !template.includes('{trace}'))
    throw wrong('it must have {trace} where the id of a trace belongs')
  const filled = URL.canParse(template.replaceAll('{trace}', '0')) ? new URL(template.replaceAll('{trace}', '0')) : undefined
  // The dashboard makes a link of it: a javascript: address would run in it.
  if (filled?.protocol !== 'https:' && filled?.protocol !== 'http:') throw wrong('it must be an https or http address')
  if (filled.hostname.includes('{') || new URL(template.replaceAll('{trace}', '1')).host !== filled.host)
    throw wrong('{trace} must not stand in its host')
  return template
}
