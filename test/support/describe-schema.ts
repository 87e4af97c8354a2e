/** The catalogue of our schema as text, made by the same tool that writes schema.sql. */
export async function describeSchema(url: string, options: { definitions?: boolean } = {}): Promise<string> {
  const tool: string = new URL('../../tools/schema.mjs', import.meta.url).href
  return (await import(tool)).describeSchema(url, options)
}
