import { writeExactly } from '../api/json.js'
import { Copy } from './copy.js'

/** JSON as text, with every number as it was stored. Text is text: nothing in it becomes markup. */
export function Json({ value, label }: { value: unknown; label: string }) {
  const text = writeExactly(value, '  ')
  return (
    <div className="json-box">
      <Copy text={text} label={`Copy the ${label}`} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard has to reach it */}
      <section className="json" tabIndex={0} aria-label={label}>
        {text}
      </section>
    </div>
  )
}
