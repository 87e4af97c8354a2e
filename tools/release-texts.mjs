// What a release changes in texts.

const heading = /^## (\S+) \(not released\)$/m

/** The version that the changelog is being written for, and how many entries it has; undefined where nothing is. */
export function unreleased(changelog) {
  const found = heading.exec(changelog)
  const first = /^## /m.exec(changelog)
  if (!found || found.index !== first?.index) return undefined
  const [section = ''] = changelog.slice(found.index + found[0].length).split(/^## /m)
  return { version: found[1], lines: [...section.matchAll(/^- /gm)].length }
}

export function releaseChangelog(changelog, version, now) {
  return changelog.replace(heading, `## ${version} (${now.toISOString().slice(0, 10)})`)
}

/** package.json or package-lock.json with another version of this package; everything else as it stands. */
export function withVersion(text, version) {
  const file = JSON.parse(text)
  file.version = version
  if (file.packages) file.packages[''].version = version
  return `${JSON.stringify(file, null, 2)}\n`
}

/** 0.10.0 is newer than 0.9.1, and than 0.10.0-rc.1. */
export function isNewer(version, other) {
  const [a, b] = [parts(version), parts(other)]
  for (let i = 0; i < 3; i++) if (a.numbers[i] !== b.numbers[i]) return a.numbers[i] > b.numbers[i]
  if (a.pre === b.pre) return false
  return a.pre === '' || (b.pre !== '' && a.pre.localeCompare(b.pre, 'en', { numeric: true }) > 0)
}

function parts(version) {
  const [numbers, pre = ''] = version.split(/-(.*)/)
  return { numbers: numbers.split('.').map(Number), pre }
}
