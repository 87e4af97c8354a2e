import { useEffect, useState } from 'react'

/** When a schedule ticks, in words. The words for cron expressions are loaded when the first one is shown. */
export function CronWords({ cron, every, zone }: { cron: string | null; every: string | null; zone: string }) {
  const words = useWords(cron)
  if (cron === null) return <>every {every}</>
  return (
    <>
      {words ?? cron}
      <span className="second">
        <code>{cron}</code> in {zone}
      </span>
    </>
  )
}

function useWords(cron: string | null): string | undefined {
  const [words, setWords] = useState<string>()
  useEffect(() => {
    let shown = true
    if (cron !== null) {
      import('cronstrue').then(({ default: { toString: inText } }) => {
        if (shown) setWords(inText(cron, { throwExceptionOnParseError: false, use24HourTimeFormat: true, verbose: false }))
      })
    }
    return () => {
      shown = false
    }
  }, [cron])
  return words?.startsWith('An error') ? undefined : words
}
