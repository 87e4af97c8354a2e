import { type ReactNode, useEffect, useId, useRef } from 'react'

/** A dialog of the browser's own: it keeps the focus inside, closes with Escape, and gives the focus back. */
export function Dialog({
  title,
  onClose,
  children,
  wide = false,
}: {
  title: string
  onClose: () => void
  children: ReactNode
  wide?: boolean
}) {
  const element = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useEffect(() => {
    const dialog = element.current
    if (dialog && !dialog.open) dialog.showModal()
    return () => dialog?.close()
  }, [])
  return (
    <dialog ref={element} aria-labelledby={heading} className={wide ? 'wide' : undefined} onClose={onClose} onCancel={onClose}>
      <h2 id={heading}>{title}</h2>
      {children}
    </dialog>
  )
}
