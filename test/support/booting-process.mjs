// One of many processes that start on the same database: migrates it, then stores a job to show that it is up.
import { defineType, Holdfast } from '../../dist/index.js'

const hello = defineType({ type: 'hello' })

process.on('message', async (url) => {
  const holdfast = new Holdfast({ connectionString: url })
  try {
    const { files } = await holdfast.migrate()
    await holdfast.enqueue(hello, {})
    process.send({ applied: files.length })
  } catch (error) {
    process.send({ applied: 0, error: String(error) })
  } finally {
    await holdfast.close()
  }
})
