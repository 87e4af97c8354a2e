import type { Command } from 'commander'
import type { Cli } from '../cli.js'
import { completionScript, type Shell, shells } from '../completion.js'

/** `holdfast completion bash|zsh|fish`. */
export function addCompletion(program: Command, cli: Cli): void {
  program
    .command('completion')
    .summary('print a script that completes commands in your shell')
    .description('Prints a script that completes commands and options as you type them.')
    .addArgument(program.createArgument('<shell>', 'your shell').choices(shells))
    .addHelpText(
      'after',
      '\nExamples:\n  source <(holdfast completion bash)    # in ~/.bashrc, and with zsh in ~/.zshrc\n' +
        '  holdfast completion fish > ~/.config/fish/completions/holdfast.fish',
    )
    .action((shell: Shell) => cli.screen.print(completionScript(shell, program)))
}
