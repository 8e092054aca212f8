import { useEffect, useRef, useState } from 'preact/hooks'
import { useStableCallback } from '../hooks/stable-callback.js'
import { Notice } from './notice.js'

type Message = { kind: 'error' | 'success'; text: string }

const successLifetime = 8_000

/** One message at a time. It can be closed, also with Escape; a message of success goes by itself. */
export const useMessage = (first: Message | undefined) => {
  const [message, setMessage] = useState(first)
  useEffect(() => {
    if (message?.kind !== 'success') return
    // A newer message may be set already, and not drawn yet.
    const remove = () => setMessage((shown) => (shown === message ? undefined : shown))
    const timer = setTimeout(remove, successLifetime)
    return () => clearTimeout(timer)
  }, [message])
  return { message, setMessage, close: () => setMessage(undefined) }
}

export const Toast = ({ message, onClose }: { message: Message | undefined; onClose: () => void }) => {
  const focusBefore = useRef<EventTarget | null>(null)
  const close = useStableCallback(onClose)
  useEffect(() => {
    if (!message) return
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === 'Escape') close()
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [message])
  // The button that is pressed goes away, so the focus returns to where it was.
  const closeByButton = () => {
    if (focusBefore.current instanceof HTMLElement) focusBefore.current.focus()
    onClose()
  }
  return (
    <div
      class="toast"
      onFocusIn={({ relatedTarget }) => {
        focusBefore.current = relatedTarget
      }}
    >
      {message && (
        // A new one each time, so that a screen reader says the same message again.
        <Notice key={message} kind={message.kind} onClose={closeByButton}>
          {message.text}
        </Notice>
      )}
    </div>
  )
}
