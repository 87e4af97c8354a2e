import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { describe, expect, onTestFinished, test } from 'vitest'
import { repository } from '../support/source.js'

const read = (path: string) => readFileSync(join(repository, path), 'utf8')
const text = read('.github/workflows/release.yml')
const workflow = load(text) as {
  on: unknown
  permissions: unknown
  jobs: { publish: { steps: { uses?: string; run?: string; with?: Record<string, unknown> }[] } }
}
const { steps } = workflow.jobs.publish
const manifest = JSON.parse(read('package.json'))
const commands = steps.flatMap(({ run }) => run?.trim() ?? [])
const commandWith = (part: string) => commands.find((command) => command.includes(part)) as string

/** Runs a command of a step by the shell of the workflow, where `npm` prints what it was called with. */
function runStep(command: string, tag: string): { status: number | null; stdout: string } {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-workflow-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  writeFileSync(join(directory, 'npm'), '#!/bin/sh\necho npm "$@"\n')
  chmodSync(join(directory, 'npm'), 0o755)
  const env = { ...process.env, GITHUB_REF_NAME: tag, PATH: `${directory}:${process.env.PATH}` }
  return spawnSync('bash', ['-e', '-c', command], { cwd: repository, env, encoding: 'utf8' })
}

describe('the workflow that a release starts', () => {
  test('is started by the tags that a release makes, and by nothing else', () => {
    expect(workflow.on).toEqual({ push: { tags: ['v*'] } })
    const release = read('tools/release.mjs')
    expect(/const tag = `(.*)`/.exec(release)?.[1]).toMatch(/^v\$\{version\}$/)
    expect(release).toContain('npm publish, with provenance, from a checkout of the tag.')
  })

  test('may read the repository and prove where it runs, and nothing else', () => {
    expect(workflow.permissions).toEqual({ contents: 'read', 'id-token': 'write' })
    expect(text.match(/permissions:/g)).toHaveLength(1)
  })

  test('installs what the lock file has, builds, and publishes last, with the Node of the repository', () => {
    expect(commands.map((command) => command.split('\n').at(-1))).toEqual([
      expect.stringContaining('GITHUB_REF_NAME'),
      'npm ci',
      'npm run build',
      expect.stringMatching(/^npm publish/),
    ])
    const node = steps.find(({ uses }) => uses?.startsWith('actions/setup-node'))?.with
    expect(node).toEqual({ 'node-version-file': '.nvmrc', 'registry-url': 'https://registry.npmjs.org' })
    expect(read('.nvmrc').trim()).toMatch(/^\d+$/)
    expect(manifest.scripts).toMatchObject({ build: expect.any(String), prepack: expect.any(String) })
  })

  test('refuses a tag that is not of the version', () => {
    const check = commandWith('test "$GITHUB_REF_NAME"')
    expect(runStep(check, `v${manifest.version}`).status).toBe(0)
    for (const tag of [manifest.version, `v${manifest.version}1`, 'v']) expect(runStep(check, tag).status, tag).not.toBe(0)
  })

  test('publishes for everybody, with provenance, and a version that is no release yet beside the others', () => {
    const publish = commandWith('npm publish')
    expect(runStep(publish, 'v0.2.0').stdout).toBe('npm publish --provenance --access public --tag latest\n')
    expect(runStep(publish, 'v0.2.0-rc.1').stdout).toBe('npm publish --provenance --access public --tag next\n')
    expect(manifest.publishConfig).toEqual({ access: 'public', provenance: true })
    expect(manifest.private).toBeUndefined()
  })

  test("runs nobody else's code but that of GitHub, and has no secret but the name of one", () => {
    expect(steps.flatMap(({ uses }) => uses?.replace(/@.*/, '') ?? [])).toEqual(['actions/checkout', 'actions/setup-node'])
    expect(text.match(/secrets\.\w+/g)).toEqual(['secrets.NPM_TOKEN'])
  })
})
