// What `npm run release` runs: the version, the changelog, the SQL contract, a commit, a tag and the package, checked. All of it is made in a
// clone beside the repository, which takes it over at the end, so that a release that fails half way has changed nothing. With
// --dry-run it ends there, and only shows what it made.
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { storeContract } from './contract.mjs'
import { shortcomings } from './evidence.mjs'
import { isNewer, releaseChangelog, unreleased, withVersion } from './release-texts.mjs'
import { sourceTree } from './source-tree.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const { values, positionals } = parseArgs({ options: { 'dry-run': { type: 'boolean' } }, allowPositionals: true })
const dryRun = values['dry-run'] === true

const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
const version = positionals[0] ?? unreleased(changelog)?.version
const problems = findProblems()
for (const problem of problems) console.log(`In the way: ${problem}`)
if (version === undefined || (problems.length > 0 && !dryRun)) {
  console.log('Nothing was released.')
  process.exit(1)
}

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-release-'))
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }))
const clone = join(scratch, 'holdfast')
const tag = `v${version}`
await makeRelease()
if (dryRun) {
  console.log('\nA dry run: nothing was changed.')
  if (problems.length > 0) console.log('A release would be refused because of what is in the way, above.')
  process.exit(problems.length > 0 ? 1 : 0)
}
takeOver()

/** Everything that is wrong, at once. */
function findProblems() {
  const found = []
  if (version === undefined) found.push('CHANGELOG.md does not begin with a heading like "## 0.2.0 (not released)"')
  else if (unreleased(changelog)?.version !== version)
    found.push(`CHANGELOG.md does not begin with "## ${version} (not released)"`)
  if (version !== undefined && !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) found.push(`${version} is no version like 0.2.0`)
  const tags = git(root, 'tag', '--list', 'v*').split('\n').filter(Boolean)
  const newer = tags.filter((other) => version !== undefined && !isNewer(version, other.slice(1)))
  if (newer.length > 0) found.push(`${version} is not newer than what has been released: ${newer.join(', ')}`)
  if (git(root, 'status', '--porcelain') !== '')
    found.push('there are changes that are not committed; they would not be part of it')
  const { repository } = manifestIn(root)
  const expected = repository.url.replace(/^git\+/, '').replace(/\.git$/, '')
  const origin = git(root, 'config', '--default', '', '--get', 'remote.origin.url')
  // A provenance statement is refused by the registry unless both name the same place, and the links of the README are made of it.
  if (origin.replace(/\.git$/, '').replace(/^git@([^:]+):/, 'https://$1/') !== expected)
    found.push(`the remote origin is ${origin || 'not set'}, and package.json names ${expected} as the repository`)
  return [...found, ...missingEvidence()]
}

/** What the fault bench found counts only for the sources that it ran on, where it ran whole and nothing failed. */
function missingEvidence() {
  const ours = sourceTree(root)
  return ['short', 'long'].flatMap((name) => {
    const report = JSON.parse(readFileSync(join(root, `chaos/results/${name}.json`), 'utf8'))
    return shortcomings(report, ours).map((what) => `chaos/results/${name}.json ${what}`)
  })
}

async function makeRelease() {
  git(root, 'clone', '--quiet', '--no-tags', root, clone)
  // A junction on Windows, where a link needs a right that few users have.
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'), 'junction')
  for (const file of ['package.json', 'package-lock.json']) edit(file, (text) => withVersion(text, version))
  edit('CHANGELOG.md', (text) => releaseChangelog(text, version, new Date()))
  run(process.execPath, ['tools/build.mjs'])
  const contract = await storeContract(clone, version)
  git(clone, 'add', '--all')
  git(clone, 'commit', '--quiet', '--message', `Holdfast ${version}`)
  git(clone, 'tag', '--annotate', tag, '--message', `Holdfast ${version}`)
  const [packed] = JSON.parse(run('npm', ['pack', '--json']))
  const file = join(clone, packed.filename)
  run(process.execPath, ['node_modules/publint/src/cli.js', file, '--strict'])
  run(process.execPath, ['node_modules/@arethetypeswrong/cli/dist/index.js', file, '--profile', 'esm-only', '--format', 'ascii'])
  console.log(`Version    ${manifestIn(root).version} → ${version}`)
  console.log(
    `Changelog  ${unreleased(changelog)?.lines ?? 0} entries under "${readFileSync(join(clone, 'CHANGELOG.md'), 'utf8').match(/^## .*$/m)?.[0]}"`,
  )
  console.log(`Contract   ${contract.file}: ${contract.statements} statements with their parameters and result columns`)
  console.log(`Tag        ${tag} on ${git(clone, 'log', '-1', '--format=%h %s')}`)
  console.log(
    `Package    ${packed.filename}: ${packed.entryCount} files, ${kilobytes(packed.size)} packed, ${kilobytes(packed.unpackedSize)} unpacked`,
  )
  console.log('Checked    by publint and arethetypeswrong')
  if (statSync(file).size !== packed.size) throw new Error(`${packed.filename} is not what npm says it packed`)
}

function takeOver() {
  const name = `holdfast-${version}.tgz`
  copyFileSync(join(clone, name), join(root, name))
  git(root, 'fetch', '--quiet', clone, 'HEAD', `refs/tags/${tag}:refs/tags/${tag}`)
  git(root, 'merge', '--quiet', '--ff-only', tag)
  console.log(`\nReleased here. Next: git push --follow-tags origin HEAD, and the workflow that ${tag} starts publishes it:`)
  console.log('npm publish, with provenance, from a checkout of the tag.')
}

function edit(file, change) {
  writeFileSync(join(clone, file), change(readFileSync(join(clone, file), 'utf8')))
}

function manifestIn(directory) {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
}

function kilobytes(bytes) {
  return `${Math.round(bytes / 1000)} kB`
}

function git(directory, ...args) {
  return finished('git', args, spawnSync('git', args, { cwd: directory, encoding: 'utf8' }))
}

function run(program, args) {
  const shell = program === 'npm' && process.platform === 'win32'
  return finished(program, args, spawnSync(program, args, { cwd: clone, encoding: 'utf8', shell }))
}

function finished(program, args, { status, stdout, stderr, error }) {
  if (status === 0) return stdout.trim()
  console.log(`${program} ${args.join(' ')} failed:\n${error?.message ?? `${stdout}${stderr}`}\nNothing was released.`)
  process.exit(1)
}
