// Reads the progress of a job as a browser would: from the stream of server-sent events.

/** The first progress that the stream tells. */
export async function firstProgress(url, key, id) {
  const answer = await fetch(`${url}/jobs/${id}/stream`, { headers: { authorization: `Bearer ${key}` } })
  let text = ''
  for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
    text += part
    const [, told] = /event: progress\ndata: (.*)\n/.exec(text) ?? []
    if (told) return JSON.parse(told)
  }
  throw new Error(`the stream of ${id} ended without progress`)
}
