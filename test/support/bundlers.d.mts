/** Bundles the programs of `project` (test/support/bundled) into `out`, and returns the extension that their files have there. */
export type Bundler = (project: string, out: string) => Promise<'js' | 'mjs' | 'cjs'>

export const bundlers: Record<string, Bundler>
