import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { typing } from '../support/cli.js'
import { needs } from '../support/programs.js'

const type = typing({})

test('bash completes commands, what is under them, their options and fixed arguments', async () => {
  const { out } = await type(['completion', 'bash'])
  const completed = (...typed: string[]) => {
    const words = ['holdfast', ...typed].map((word) => `'${word}'`).join(' ')
    const script = `${out}\nCOMP_WORDS=(${words}); COMP_CWORD=${typed.length}; _holdfast; echo "\${COMPREPLY[*]}"`
    return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim().split(' ')
  }
  expect(completed('sch')).toEqual(['schedules'])
  expect(completed('jobs', 're')).toEqual(['replay', 'resume', 'retry', 'reschedule'])
  expect(completed('jobs', 'ls', '--cre')).toEqual(['--created-after', '--created-before'])
  expect(completed('jobs', 'ls', '--status', 'dead', '--li')).toEqual(['--limit'])
  expect(completed('types', 'breaker', 'mail', 'hold')).toEqual(['hold-open', 'hold-closed'])
  expect(completed('completion', 'z')).toEqual(['zsh'])
})

test.each(['zsh', 'fish'] as const)('%s reads its script', async (shell) => {
  const { code, out } = await type(['completion', shell])
  expect(code).toBe(0)
  expect(out).toContain(
    shell === 'zsh' ? 'bashcompinit' : "-n '__fish_seen_subcommand_from jobs; and __fish_seen_subcommand_from ls' -l status",
  )
  const path = needs(shell, `completion in ${shell}`)
  if (path) execFileSync(path, ['-c', shell === 'zsh' ? `autoload -U compinit && compinit -u -D\n${out}` : out])
})

test('a shell that nobody has written a script for is refused', async () => {
  expect(await type(['completion', 'tcsh'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('Allowed choices are bash, zsh, fish'),
  })
})
