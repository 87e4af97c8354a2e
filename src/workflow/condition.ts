/** What a jsonpath begins with: `$.input`, `$.charge`, `$."charge"`. A dollar sign inside of a text is none. */
const root = /"(?:[^"\\]|\\.)*"|\$(?:\s*\.\s*(?:"([^"]+)"|([A-Za-z_]\w*)))?/g

/** The names a jsonpath reads. An empty one stands for a `$` that names nothing: the whole document, or a variable. */
export function rootsOf(path: string): string[] {
  const found = [...path.matchAll(root)].filter(([text]) => text.startsWith('$'))
  return [...new Set(found.map(([, quoted, bare]) => quoted ?? bare ?? ''))]
}
