import { useEffect, useRef, useState } from 'react'

/** Numbers change every two seconds; read aloud as often, they would drown out everything else. */
const apartMs = 20_000

/** Numbers as words for those who hear the page: nothing at first, because it is read then anyway, and later what has changed, now and then. */
export function Spoken({ words }: { words: string }) {
  const [said, setSaid] = useState('')
  const last = useRef({ words: '', at: 0 })
  useEffect(() => {
    if (words === '' || words === last.current.words) return
    const first = last.current.at === 0
    const say = () => {
      last.current = { words, at: Date.now() }
      if (!first) setSaid(words)
    }
    const timer = setTimeout(say, first ? 0 : Math.max(0, last.current.at + apartMs - Date.now()))
    return () => clearTimeout(timer)
  }, [words])
  return (
    <p className="unseen" aria-live="polite">
      {said}
    </p>
  )
}
