import { namesInQuery, payloadPrefix } from './query-text.js'

/** What a value of each field may be, as far as it is known. */
export type Known = Readonly<Partial<Record<string, readonly string[]>>>

const ages = ['<15m', '<1h', '<24h', '<7d', '>1h', '>24h']
const shownAtMost = 8

/** The word that somebody is typing, where the caret stands. */
export function wordAt(text: string, caret: number): { readonly word: string; readonly from: number; readonly to: number } {
  const from = text.slice(0, caret).search(/(?:[^\s"]|"[^"]*"?)*$/)
  const rest = text.slice(caret).search(/\s|$/)
  return { word: text.slice(from, caret), from, to: caret + rest }
}

/** What may stand for this word: a name with its colon, or the whole of name and value. */
export function suggestionsFor(word: string, known: Known): readonly string[] {
  const [, name, begun = ''] = /^([\w.-]+):(.*)$/.exec(word) ?? []
  if (name === undefined) {
    const names = [...Object.keys(namesInQuery).filter((one) => one !== 'owner'), payloadPrefix.slice(0, -1)]
    const distinct = [...new Set(names)].map((one) => (one === 'payload' ? payloadPrefix : `${one}:`))
    return distinct.filter((one) => one.startsWith(word.toLowerCase()) && one !== word).slice(0, word === '' ? 12 : shownAtMost)
  }
  const values = name === 'age' || name === 'ended' ? ages : (known[name] ?? [])
  const typed = begun.replace(/^"/, '').toLowerCase()
  return values
    .filter((value) => value.toLowerCase().includes(typed) && value !== begun)
    .slice(0, shownAtMost)
    .map((value) => `${name}:${/\s/.test(value) ? `"${value}"` : value}`)
}

/** The text with the word replaced, and where the caret goes: behind a value a blank, behind a name nothing. */
export function withSuggestion(text: string, caret: number, chosen: string): { readonly text: string; readonly caret: number } {
  const { from, to } = wordAt(text, caret)
  const isName = /[:.]$/.test(chosen)
  const rest = text.slice(to).trimStart()
  const caretAt = from + chosen.length + (isName ? 0 : 1)
  return { text: `${text.slice(0, from)}${chosen}${isName && rest === '' ? '' : ' '}${rest}`, caret: caretAt }
}
