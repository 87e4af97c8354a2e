// Reads the options that the source declares, with what their comments say: what and why, range, default.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const source = fileURLToPath(new URL('../src', import.meta.url))

/** The members of every exported interface and type, by its name. */
export function declaredOptions() {
  const files = readdirSync(source, { recursive: true }).filter(
    (path) => /(?<!\.test)\.ts$/.test(path) && !path.startsWith('store/'),
  )
  const found = files.sort().flatMap((path) => declarationsIn(readFileSync(join(source, path), 'utf8')))
  return new Map(found.map(({ name, members }) => [name, members]))
}

/** Every declaration of a source file with members, and the members with their comments. */
function declarationsIn(text) {
  return [...text.matchAll(/^export (?:interface|type) (\w+)[^\n]*\n[\s\S]*?(?=^\S.*\n|$(?![\s\S]))/gm)].map(([body, name]) => ({
    name,
    members: membersOf(body),
  }))
}

function membersOf(body) {
  const members = []
  let comment = ''
  for (const line of body.split('\n').slice(1)) {
    const text = line.trim()
    const [, name, optional, type = ''] = /^(?:readonly )?(\w+)(\?)?(?::|(?=\()) ?(.*)$/.exec(text) ?? []
    if (/^\/\*\*|^\*/.test(text))
      comment += `${text
        .replace(/^\/\*\*|\*\/$|^\* ?/g, '')
        .replace(/\*\/$/, '')
        .trim()}\n`
    else if (name && !text.startsWith('//')) {
      const member = {
        name,
        optional: Boolean(optional),
        type: type.replace(/,$/, '').replace(/ \| undefined$/, ''),
        ...parts(comment),
      }
      if (!/^@internal$/m.test(comment)) members.push(member)
      comment = ''
    } else if (text !== '' && !text.startsWith('//')) comment = ''
  }
  return members
}

/** A comment in parts: what and why, range, default. */
function parts(comment) {
  const tag = (name) => new RegExp(`@${name} ([^@]*)`).exec(comment)?.[1]?.trim().replaceAll('\n', ' ') ?? ''
  return { what: comment.split(/^@/m)[0].trim().replaceAll('\n', ' '), range: tag('range'), otherwise: tag('default') }
}
