import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { repository } from '../support/packed.js'

const run = promisify(execFile)
const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
const who = {
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.com',
}
let directory: string

/** A clone of what is committed here, at home where package.json says, with nothing released. */
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-releasing-'))
  await git('clone', '--quiet', '--no-tags', repository, '.')
  await git('remote', 'set-url', 'origin', manifest.repository.url.replace('git+', ''))
  await symlink(join(repository, 'node_modules'), join(directory, 'node_modules'))
  await stampReports(await git('rev-parse', 'HEAD:src'))
  await git('commit', '--quiet', '--all', '--message', 'Reports of these sources')
})

afterEach(() => rm(directory, { recursive: true, force: true }))

/** Makes the reports of the fault bench say that they ran on these sources, whole and without a failure. */
async function stampReports(source: string): Promise<void> {
  const whole = { sweep: { cases: 1, of: 1, operations: 1 }, campaigns: { 'campaigns/mixed/1': 5_000 } }
  for (const name of ['short', 'long']) {
    const file = join(directory, `chaos/results/${name}.json`)
    const report = JSON.parse(await readFile(file, 'utf8'))
    const soak = { ...report.soak, minutes: 60 }
    await writeFile(file, JSON.stringify({ ...report, source, failures: [], ...(name === 'long' && { ...whole, soak }) }))
  }
}

async function git(...args: string[]): Promise<string> {
  return (await run('git', args, { cwd: directory, env: { ...process.env, ...who } })).stdout.trim()
}

/** `npm run release -- <args>` there. */
async function release(...args: string[]): Promise<{ code: number; output: string }> {
  const env = { ...process.env, ...who, DATABASE_URL: process.env.HOLDFAST_TEST_URL }
  return run(process.execPath, ['tools/release.mjs', ...args], { cwd: directory, env }).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    ({ code, stdout, stderr }) => ({ code, output: `${stdout}${stderr}` }),
  )
}

const state = async () => [await git('status', '--porcelain'), await git('tag'), await git('rev-parse', 'HEAD')]

describe('npm run release', { timeout: 600_000 }, () => {
  it('is refused in a dry run too where a report is of other sources', async () => {
    await stampReports('0123456789')
    await git('commit', '--quiet', '--all', '--message', 'Reports of other sources')
    const { code, output } = await release('--dry-run')
    expect(code).toBe(1)
    expect(output).toMatch(/In the way: chaos\/results\/short\.json was made on 0123456789/)
  })

  it('makes, in a dry run, everything that it would release, and changes nothing', async () => {
    const before = await state()
    const { code, output } = await release('--dry-run')
    expect(output).toMatch(/^Version +\S+ → \S+\nChangelog +\d+ entries under "## \S+ \(\d{4}-\d\d-\d\d\)"$/m)
    expect(output).toMatch(/^Contract +test\/store\/contracts\/\S+\.json: \d{3} statements/m)
    expect(output).toMatch(/^Tag +v\S+ on \w+ Holdfast \S+\nPackage +holdfast-\S+\.tgz: \d+ files, \d+ kB packed/m)
    expect(output).toContain('publint')
    expect(code).toBe(0)
    expect(await state()).toEqual(before)
  })

  it('writes the version, the changelog and the contract in one commit, tags it and packs it; and does so once', async () => {
    const version = /^## (\S+) \(not released\)$/m.exec(readFileSync(join(directory, 'CHANGELOG.md'), 'utf8'))?.[1] as string
    expect(await release()).toMatchObject({ code: 0 })
    expect(await git('status', '--porcelain')).toBe('')
    expect(await git('log', '-1', '--format=%s', `v${version}`)).toBe(`Holdfast ${version}`)
    expect(await git('rev-parse', 'HEAD')).toBe(await git('rev-parse', `v${version}^{commit}`))
    expect((await git('show', '--stat', '--format=')).replaceAll(/ +\|.*/g, '')).toContain(`test/store/contracts/${version}.json`)
    expect(existsSync(join(directory, `holdfast-${version}.tgz`))).toBe(true)
    const { statements } = JSON.parse(readFileSync(join(directory, `test/store/contracts/${version}.json`), 'utf8'))
    expect(statements).toContainEqual(
      expect.objectContaining({ name: 'revokeKey', columns: ['known boolean'], text: expect.stringContaining('revoke_key') }),
    )

    const again = await release(version)
    expect(again.code).toBe(1)
    expect(again.output).toContain(`CHANGELOG.md does not begin with "## ${version} (not released)"`)
    expect(again.output).toContain(`${version} is not newer than what has been released: v${version}`)
  })

  it('is refused, with everything that is in the way, where the repository is another, a report is of other sources or something is not committed', async () => {
    await git('remote', 'remove', 'origin')
    await stampReports('0123456789')
    const before = await state()
    const { code, output } = await release()
    expect(code).toBe(1)
    expect(output).toContain('In the way: there are changes that are not committed')
    expect(output).toMatch(
      /In the way: chaos\/results\/long\.json was made on 0123456789, and src is [0-9a-f]{40}; npm run chaos/,
    )
    expect(output).toContain('In the way: the remote origin is not set')
    expect(output).toContain('Nothing was released.')
    expect(await state()).toEqual(before)
  })
})
