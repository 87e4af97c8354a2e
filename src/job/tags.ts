import { refused } from './refused.js'
import { unstorable } from './text.js'

const most = 8
const longest = 100

/** The tags of a job: short words to find it by, each once. Null: none. */
export function readTags(tags: unknown): readonly string[] | null {
  if (tags === undefined) return null
  if (!Array.isArray(tags) || tags.length > most) throw refused('tags', `must be a list of at most ${most} texts`)
  const read = [...new Set(tags.map((tag, at) => readTag(tag, `tags[${at}]`)))]
  return read.length === 0 ? null : read
}

/** The tags that a filter asks for: a job has to have all of them. Null: the filter does not ask. An empty list would mean every job. */
export function readTagsAsked(tags: unknown): readonly string[] | null {
  if (Array.isArray(tags) && tags.length === 0) throw refused('tags', 'is empty; name one tag at least, or leave it out')
  return readTags(tags)
}

function readTag(tag: unknown, field: string): string {
  if (typeof tag === 'string' && tag !== '' && tag.length <= longest && !unstorable.test(tag)) return tag
  throw refused(field, `must be a text of 1 to ${longest} characters`)
}
