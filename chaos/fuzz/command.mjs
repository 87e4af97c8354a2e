// What a command is: a name, what it is told, and what it does to the world. fast-check makes them, runs them and leaves them out to find
// out which ones a failure needs.
import fc from 'fast-check'

/** @param {(world: import('./world.mjs').World, args: object) => Promise<void>} run */
export function operation(name, weight, args, run) {
  return { name, weight, arbitrary: fc.record(args).map((told) => new Command(name, told, run)) }
}

class Command {
  constructor(name, args, run) {
    this.name = name
    this.args = args
    this.perform = run
  }

  check() {
    return true
  }

  async run(_model, world) {
    // Once something is wrong, what follows says nothing more.
    if (world.books.violations.length > 0) return
    await this.perform(world, this.args)
    await world.look()
  }

  toString() {
    const told = Object.entries(this.args).filter(([, value]) => value !== undefined)
    return `${this.name}(${told.map(([field, value]) => `${field}: ${JSON.stringify(value)}`).join(', ')})`
  }
}

/** Several operations at the same moment. */
class Together extends Command {
  constructor(commands) {
    super('together', {}, async (world) => {
      await Promise.all(commands.map((command) => command.perform(world, command.args)))
    })
    this.commands = commands
  }

  toString() {
    return `together[${this.commands.join('; ')}]`
  }
}

/** Sequences of these operations, one by one and several at once. */
export function sequences(operations, longest) {
  const one = fc.oneof(...operations.map(({ weight, arbitrary }) => ({ weight, arbitrary })))
  const together = fc.array(one, { minLength: 2, maxLength: 8, size: 'max' }).map((commands) => new Together(commands))
  return fc.commands([fc.oneof({ weight: 3, arbitrary: one }, { weight: 1, arbitrary: together })], {
    maxCommands: longest,
    size: 'max',
  })
}

/** Every second time, and every eighth: what is mostly left out. */
export const sometimes = (arbitrary) => fc.option(arbitrary, { nil: undefined, freq: 2 })
export const rarely = (arbitrary) => fc.oneof({ weight: 7, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

/** Which job is meant, of those there are: mostly the one that came last. */
export const pick = fc.oneof(fc.constant(0), fc.nat({ max: 30 }))

/** The job that `pick` means among those the query finds, the latest first; undefined where there is none. */
export async function picked(world, which, where) {
  const rows = await world.sql(`select id::text from holdfast.jobs where ${where} order by id desc`)
  return rows.length > 0 ? rows[which % rows.length].id : undefined
}
