import { Copy } from './copy.js'

/** A command or a line of code that fills an empty screen, with a button that copies it. */
export function Command({ text }: { text: string }) {
  return (
    <span className="command">
      <code>{text}</code>
      <Copy text={text} label={`Copy: ${text}`} />
    </span>
  )
}
