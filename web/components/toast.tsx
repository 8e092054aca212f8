import { useEffect, useRef } from 'preact/hooks'
import { useStableCallback } from '../hooks/stable.js'
import { TryAgain } from './button.js'
import { HelpLink, Notice, useMessage } from './notice.js'

type Message = {
  kind: 'error' | 'success' | 'info'
  text: string
  /** A link to help belongs below the text, because the text sends the user to the administrator. */
  hasHelpLink?: boolean
  /** Tries again what has failed. */
  retry?: () => Promise<void>
}

/** A longer text stays longer, so that there is time to read it. */
const lifetimeOf = ({ text }: Message) => Math.max(8_000, 120 * text.length)

/** Shows one message at a time. It can be closed, also with Escape; a message of success disappears by itself, and at the next press. */
export const useToast = (first: Message | undefined) => {
  const { message, setMessage, clearMessage } = useMessage(first)
  const remove = useStableCallback(clearMessage)
  useEffect(() => {
    if (message?.kind !== 'success') return
    const timer = setTimeout(() => remove(message), lifetimeOf(message))
    return () => clearTimeout(timer)
  }, [message])
  return { message, setMessage, close: () => setMessage(undefined) }
}

export const Toast = ({ message, onClose }: { message: Message | undefined; onClose: () => void }) => {
  const container = useRef<HTMLDivElement>(null)
  const focusBefore = useRef<EventTarget | null>(null)
  const close = useStableCallback(onClose)
  useEffect(() => {
    if (!message) return
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === 'Escape') close()
    }
    // What went well is in the way of the next action.
    const onPress = ({ target }: Event) => {
      const isAction = target instanceof Element && target.closest('button, a, input, select') !== null
      if (message.kind === 'success' && isAction && !container.current?.contains(target)) close()
    }
    document.addEventListener('keydown', onKeyDown)
    document.addEventListener('click', onPress, { capture: true })
    return () => {
      document.removeEventListener('keydown', onKeyDown)
      document.removeEventListener('click', onPress, { capture: true })
    }
  }, [message])
  // The pressed button disappears, so the focus returns to where it was before.
  const closeByButton = () => {
    if (focusBefore.current instanceof HTMLElement) focusBefore.current.focus()
    onClose()
  }
  const tryAgain = async (retry: Message['retry']) => {
    closeByButton()
    await retry?.()
  }
  return (
    <div
      ref={container}
      class="toast"
      onFocusIn={({ relatedTarget }) => {
        focusBefore.current = relatedTarget
      }}
    >
      {message && (
        // The notice is a new element each time, so that a screen reader says the same message again.
        <Notice
          key={message}
          kind={message.kind}
          after={
            message.retry ? <TryAgain onPress={() => tryAgain(message.retry)} /> : message.hasHelpLink && <HelpLink />
          }
          onClose={closeByButton}
        >
          {message.text}
        </Notice>
      )}
    </div>
  )
}
