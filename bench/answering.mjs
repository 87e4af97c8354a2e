/** Does what the parent calls for, one answer a call, until it says close or goes away itself. */
export function answerCalls(calls) {
  process.on('message', async ({ id, call, args }) => {
    try {
      process.send({ id, result: await calls[call](args) })
    } catch (error) {
      process.send({ id, error: error.stack ?? String(error) })
    }
    if (call === 'close') process.disconnect()
  })
  // Ctrl-C reaches every process of the terminal; who goes when is the parent's to say.
  process.on('SIGINT', () => {})
  process.on('disconnect', () => process.exit())
  process.send({ ready: true })
}
