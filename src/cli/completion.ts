import type { Command } from 'commander'

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

/** What can stand after the words of a command. */
interface Completions {
  /** The names of the commands that led here, such as ['jobs', 'ls']. */
  path: readonly string[]
  words: readonly { word: string; what: string }[]
}

/** A script that completes the commands, options and fixed arguments of the program. */
export function completionScript(shell: Shell, program: Command): string {
  const completions = completionsIn(program)
  if (shell === 'fish') return fish(completions)
  // zsh reads what bash does, once it was told to.
  const begin = shell === 'zsh' ? ['#compdef holdfast', 'autoload -U +X bashcompinit && bashcompinit'] : []
  return [...begin, ...bash(completions)].join('\n')
}

function completionsIn(command: Command, path: readonly string[] = []): Completions[] {
  const commands = command.commands.map((one) => ({ word: one.name(), what: one.summary() || one.description() }))
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices.map((word) => ({ word, what: '' })))
  const options = command.options.map(({ long, description }) => ({ word: long ?? '', what: description }))
  const words = [...commands, ...choices, ...options, { word: '--help', what: 'print help' }].filter(({ word }) => word !== '')
  return [{ path, words }, ...command.commands.flatMap((one) => completionsIn(one, [...path, one.name()]))]
}

function bash(completions: readonly Completions[]): string[] {
  const known = completions.filter(({ path }) => path.length > 0).map(({ path }) => `'${path.join(' ')}'`)
  const cases = completions.map(
    ({ path, words }) => `    '${path.join(' ')}') words='${words.map(({ word }) => word).join(' ')}' ;;`,
  )
  return [
    '_holdfast() {',
    `  local current="\${COMP_WORDS[COMP_CWORD]}" path='' words='' next i`,
    '  for ((i = 1; i < COMP_CWORD; i++)); do',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: these are of the shell
    '    next="${path:+$path }${COMP_WORDS[i]}"',
    '    case "$next" in',
    `      ${known.join('|')}) path="$next" ;;`,
    '    esac',
    '  done',
    '  case "$path" in',
    ...cases,
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '}',
    'complete -o default -F _holdfast holdfast',
  ]
}

function fish(completions: readonly Completions[]): string {
  const below = (path: readonly string[]) =>
    completions.filter((one) => one.path.length === path.length + 1 && path.every((name, at) => one.path[at] === name))
  const lines = completions.flatMap(({ path, words }) => {
    const deeper = below(path).map((one) => one.path.at(-1) as string)
    const seen = path.map((name) => `__fish_seen_subcommand_from ${name}`)
    const notYet = deeper.length > 0 ? [`not __fish_seen_subcommand_from ${deeper.join(' ')}`] : []
    const when = [...seen, ...notYet].join('; and ')
    return words.map(({ word, what }) => {
      const said = what === '' ? '' : ` -d '${(what.split('\n')[0] as string).replaceAll(/[\\']/g, '\\$&')}'`
      return `complete -c holdfast -n '${when}' ${word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`}${said}`
    })
  })
  return lines.join('\n')
}
