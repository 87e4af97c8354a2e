// Makes docs/cli.md from the commands. Build first.
import { cliRanges } from './cli-ranges.mjs'

const code = (text) => `\`${text.replaceAll('`', '')}\``
const cell = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ')
const row = (...cells) => `| ${cells.map(cell).join(' | ')} |`

/** What most commands take; said once. */
const shared = ['--database-url', '--url', '--json', '--watch', '--why', '--by', '--yes']

function leaves(command, above = '') {
  const name = `${above}${command.name()}`
  if (command.commands.length > 0) return command.commands.flatMap((one) => leaves(one, `${name} `))
  return [{ name, command }]
}

/** Where the default stands in the description, for whoever asks for help, the page has it in its column alone. */
function saidOf({ description, defaultValue, mandatory }, unsaid) {
  const [whole, variable = '', named] = / ?\(([A-Z_]+; )?default: ([^)]*)\)/.exec(description) ?? []
  const what = whole ? description.replace(whole, variable && ` (${variable.replace('; ', '')})`) : description
  return { what, otherwise: mandatory ? 'required' : String(defaultValue ?? named ?? unsaid) }
}

function described({ name, command }, rangeOf) {
  const args = command.registeredArguments.map((one) => ({
    name: one.required ? `<${one.name()}>` : `[${one.name()}]`,
    what: one.description,
    choices: one.argChoices?.join(', '),
  }))
  const takes = command.options.filter(({ long }) => shared.includes(long)).map(({ long }) => code(long))
  const own = command.options.filter(({ long }) => !shared.includes(long))
  const rows = [
    ...args.map((one) =>
      row(
        code(one.name),
        one.name.startsWith('<') ? 'required' : 'none',
        one.choices ?? rangeOf(name, { long: one.name }).range,
        one.what,
      ),
    ),
    ...own.map((option) => {
      const { range, otherwise: unsaid } = rangeOf(name, option)
      const { what, otherwise } = saidOf(option, unsaid)
      return row(code(option.flags), otherwise, option.argChoices?.join(', ') ?? range, what)
    }),
  ]
  const usage = [name, ...args.map((one) => one.name)].join(' ')
  const aliases = command.aliases().map((alias) => code(`${name.slice(0, name.lastIndexOf(' '))} ${alias}`))
  return [
    `### ${code(usage)}`,
    command.description(),
    ...(aliases.length > 0 ? [`Also ${aliases.join(', ')}.`] : []),
    ...(rows.length > 0
      ? [['| argument or option | default | range | what it does |', '|---|---|---|---|', ...rows].join('\n')]
      : []),
    ...(takes.length > 0 ? [`And ${takes.join(', ')}.`] : []),
  ].join('\n\n')
}

export async function cliPage() {
  const { makeProgram } = await import('../dist/cli/program.js')
  const { variables } = await import('../dist/cli/environment.js')
  const rangeOf = await cliRanges()
  const nowhere = { write() {} }
  const { program } = makeProgram({ out: nowhere, err: nowhere, env: {}, stop: new AbortController().signal })
  const environment = variables.filter(({ readBy }) => readBy.includes('cli'))
  return `# The command line

\`npx holdfast <command>\`; \`--help\` after any command says what it takes. The list of commands below is generated from the code by
\`npm run configuration\`; a test checks that it is current.

## Where a command looks

Commands that look and operate do so in the database, or over HTTP by way of a [server](serving.md), with the same output. An option goes
before the environment; where both ways are set, or neither, the command says so and does nothing.

| way | option | environment |
|---|---|---|
| the database | \`--database-url postgres://user:password@host:port/name\` | \`DATABASE_URL\` |
| a server | \`--url https://jobs.example.com\` | \`HOLDFAST_URL\`; its key is in \`HOLDFAST_KEY\` |

Over HTTP a command may do what its key may ([keys and roles](http-api.md#keys-and-roles)), and the audit log names the service of the key.
Through the database it names the user of this machine, or \`--by\`. Commands without \`--url\` need the database itself.

${environment.map(({ name, what }) => `- \`${name}\`: ${what}`).join('\n')}

## What it prints

- People get tables that fit the terminal, with ages (\`5s\`, \`12m\`, \`3h\`, \`9d\`) instead of times; \`show\` has the times. In a pipe nothing
  is cut. Colours are for terminals alone, and not with \`NO_COLOR\`. What users wrote is shown as text.
- Programs get the fields of the [HTTP API](http-api.md) with \`--json\`, whichever way the command went; an error is
  \`{"error": {"code", "message", "field"}}\` on standard error.
- \`--watch\` shows it again every two seconds until Ctrl-C; with \`--json\`, one line each time.

## What it asks

What cannot be taken back, or concerns many jobs, asks first: \`--yes\` answers. Where nobody is at a terminal, it is refused without \`--yes\`.
\`--why\` is the reason that the audit log keeps.

## What it ends with

| code | meaning |
|---|---|
| 0 | done |
| 1 | failed: refused, not found, not reachable |
| 2 | the command line is wrong, or was not confirmed; nothing was tried |

## Completion

\`source <(holdfast completion bash)\` in \`~/.bashrc\`, or with \`zsh\` in \`~/.zshrc\`, completes commands, options and fixed arguments;
\`holdfast completion fish > ~/.config/fish/completions/holdfast.fish\` does so in fish.

## Commands

${leaves(program)
  .map((one) => described(one, rangeOf))
  .join('\n\n')}
`
}
