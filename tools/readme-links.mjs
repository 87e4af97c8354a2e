// The links of README.md. In the repository they are paths; on npm, where there is no repository around the page, they have to be addresses,
// and those of the release itself, because the pages of today may speak of what that release does not have.

/** Where the files of a release can be read: made of `repository` in package.json, the one place that names it. */
export function filesOf({ repository, version }) {
  return `${repository.url.replace(/^git\+/, '').replace(/\.git$/, '')}/blob/v${version}/`
}

export function linksForNpm(readme, manifest) {
  return readme.replaceAll(/\]\((?!https?:|#)([^)]+)\)/g, (_, path) => `](${filesOf(manifest)}${path}${shownAsFile(path)})`)
}

/** The way back. Needs no copy of what was there, so that a pack that was interrupted is put right by the next one. */
export function linksForRepository(readme, manifest) {
  return readme.replaceAll(`](${filesOf(manifest)}`, '](').replaceAll('.png?raw=true)', '.png)')
}

/** Without it, the address of a picture is that of a page about it. */
const shownAsFile = (path) => (path.endsWith('.png') ? '?raw=true' : '')
