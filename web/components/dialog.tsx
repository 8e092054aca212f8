import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { moveFocusTo } from '../hooks/focus.js'

type Props = {
  title: string
  /** A sentence about the subject of the dialog. It is read out with the title. */
  lead: ComponentChildren
  onCancel: () => void
  /**
   * The children get a function that closes the dialog. Call it before the dialog is removed: one that closes outside the document
   * cannot put the focus back.
   */
  children: (close: () => void) => ComponentChildren
}

/** Keeps the dialog open while a request is under way: the request cannot be cancelled, and the dialog shows its answer. */
const stayWhileBusy = (event: KeyboardEvent & { currentTarget: HTMLElement }) => {
  if (event.key === 'Escape' && event.currentTarget.querySelector('[aria-busy=true]')) event.preventDefault()
}

/** The browser keeps the focus inside the dialog, closes the dialog on Escape, and puts the focus back where it was. */
export const Dialog = ({ title, lead, onCancel, children }: Props) => {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  // A layout effect runs before the effects of a form in the dialog, which moves the focus to its first field.
  useLayoutEffect(() => {
    const element = dialog.current
    element?.showModal()
    moveFocusTo(heading.current)
    return () => element?.close()
  }, [])
  const close = () => dialog.current?.close()
  const cancel = () => {
    close()
    onCancel()
  }
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      aria-describedby={`${id}-lead`}
      onKeyDown={stayWhileBusy}
      onCancel={cancel}
    >
      <h2 ref={heading} id={id}>
        {title}
      </h2>
      <div class="dialog-lead" id={`${id}-lead`}>
        {lead}
      </div>
      {children(close)}
    </dialog>
  )
}
