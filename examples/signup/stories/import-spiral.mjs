export const title = 'An import of far more rows than can be worked off soon'

/** The document has two million rows; ROWS sets how many here. Signups of the meantime pass them, because their priority is low. */
export async function tell(
  { say, signUp, allEnded, countsOf, holdfast, ask },
  { rows = Number(process.env.ROWS ?? 20_000) } = {},
) {
  for (let row = 0; row < rows; row += 5_000) {
    const count = Math.min(5_000, rows - row)
    await holdfast.enqueueMany(Array.from({ length: count }, (_, n) => ({ type: 'import_row', payload: { row: row + n } })))
  }
  const answers = await signUp(5)
  await allEnded('send_email')
  const left = (await countsOf('import_row')).pending ?? 0
  say(`  five people signed up behind ${rows} rows: their mails are out, and ${left} rows still wait`)
  await allEnded('import_row')
  const [passed] = await ask(
    `select max(m.started_at) < (select max(finished_at) from holdfast.jobs where type = 'import_row') as all_before
     from holdfast.jobs as m where m.id = any ($1)`,
    [answers.map(({ jobs: [mail] }) => mail)],
  )
  return { mailsFirst: passed.all_before, imported: await countsOf('import_row') }
}
