import { useState } from 'react'
import { say } from './said.js'

/** Copies a text. Over plain http a browser has no clipboard for pages, so there it selects a field and copies that. */
export function Copy({ text, label, words = 'copy' }: { text: string; label: string; words?: string }) {
  const [done, setDone] = useState(false)
  const copy = async () => {
    if (navigator.clipboard) await navigator.clipboard.writeText(text)
    else copyFromField(text)
    setDone(true)
    say('Copied')
    setTimeout(() => setDone(false), 1_500)
  }
  return (
    <button type="button" className="plain copy" aria-label={label} onClick={copy}>
      {done ? 'copied' : words}
    </button>
  )
}

function copyFromField(text: string): void {
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'unseen'
  document.body.append(field)
  field.select()
  document.execCommand('copy')
  field.remove()
}
