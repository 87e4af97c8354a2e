import { createHash } from 'node:crypto'
import { messageOf, sentence, type Trouble } from './message.js'

const longestKey = 255
const emoji = { info: ':information_source:', warning: ':warning:', critical: ':rotating_light:' } as const

/** What is sent to a target, as it wants to read it. `secret`: the routing key of PagerDuty. */
export function bodyFor(form: string, trouble: Trouble, secret: string): object {
  if (form === 'slack') return slackMessage(trouble)
  if (form === 'pagerduty') return pagerDutyEvent(trouble, secret)
  return messageOf(trouble)
}

/** A message for an incoming webhook of Slack. `text` is what notifications show. */
function slackMessage(trouble: Trouble): object {
  const { state, rule, severity, value, threshold, since } = trouble
  const sign = state === 'firing' ? emoji[severity] : ':white_check_mark:'
  const text = escaped(sentence(trouble))
  const at = Math.floor(new Date(since).getTime() / 1_000)
  const facts = `*${rule}* · ${severity} · ${value} (above ${threshold}) · since <!date^${at}^{date_short_pretty} {time_secs}|${new Date(since).toISOString()}>`
  return {
    text: `${sign} ${text}`,
    blocks: [
      { type: 'section', text: { type: 'mrkdwn', text: `${sign} ${text}` } },
      { type: 'context', elements: [{ type: 'mrkdwn', text: facts }] },
    ],
  }
}

/** An event of the Events API v2. What begins and what is over have the same key, so that PagerDuty closes what it opened. */
function pagerDutyEvent(trouble: Trouble, routingKey: string): object {
  const { data, timestamp } = messageOf(trouble)
  const { rule, kind, severity, subject, summary, ...details } = data
  return {
    routing_key: routingKey,
    event_action: trouble.state === 'resolved' ? 'resolve' : 'trigger',
    dedup_key: shortened(['holdfast', rule, ...(subject === '' ? [] : [subject])].join('/')),
    client: 'Holdfast',
    payload: {
      ...{ summary, severity, timestamp, source: 'holdfast', group: rule, class: kind },
      ...(subject === '' ? {} : { component: subject }),
      custom_details: details,
    },
  }
}

/** PagerDuty takes keys of at most 255 characters. */
function shortened(key: string): string {
  return key.length <= longestKey ? key : `holdfast/${createHash('sha256').update(key).digest('hex')}`
}

/** As Slack asks for texts that are not its markup. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
