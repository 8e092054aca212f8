import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { mailAddressIn } from '#contract/pages.js'
import { moveFocusTo } from '../hooks/focus.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { AlertIcon, CheckIcon, CrossIcon, InfoIcon } from './icons.js'

type Kind = 'error' | 'success' | 'info'
/** An error is announced by the browser, so it may have elements in it. The others go through `Announced`, which takes text only. */
type Message = { kind: 'error'; children: ComponentChildren } | { kind: 'success' | 'info'; children: string }
type Props = Message & {
  after?: ComponentChildren
  /** Whether the notice takes the focus, because the element that had it is gone. */
  focused?: boolean
  onClose?: () => void
}

const icons: Record<Kind, () => ComponentChildren> = {
  error: () => <AlertIcon />,
  success: () => <CheckIcon />,
  info: () => <InfoIcon />,
}

/** A message that a screen reader reads out at once. `after` is shown below it and is not read out. */
export const Notice = ({ kind, children, after, focused = false, onClose }: Props) => {
  const { close } = useWords('common')
  const container = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (focused) moveFocusTo(container.current)
  }, [focused])
  return (
    <div ref={container} class={`notice ${kind}`}>
      {icons[kind]()}
      <div>
        {kind === 'error' ? <p role="alert">{children}</p> : <Announced text={children} />}
        {after}
      </div>
      {onClose && (
        <button type="button" class="close-notice" aria-label={close} title={close} onClick={onClose}>
          <CrossIcon />
        </button>
      )}
    </div>
  )
}

/** Long enough for a screen reader to know the region. What loads in less time needs no message. */
const delay = 250

type AnnouncedProps = { text: string; class?: string }

/** A screen reader says what comes into a region that it knows. A text that arrives together with its region stays silent. */
export const Announced = ({ text, class: className }: AnnouncedProps) => {
  const [shown, setShown] = useState<string>()
  useEffect(() => {
    const timer = setTimeout(() => setShown(text), delay)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <p class={className} role="status">
      {shown}
    </p>
  )
}

/** Shown until the page knows what it should show. */
export const Loading = ({ text }: { text: string }) => (
  <div class="loading">
    <span class="spinner" aria-hidden="true" />
    <Announced text={text} />
  </div>
)

/** A message in the language of the page. It disappears when the visitor chooses another language, because it is not translated again. */
export const useMessage = <Message,>(first?: Message) => {
  const { language } = useSettings()
  const [state, setState] = useState<{ message: Message | undefined; language: string }>({ message: first, language })
  useEffect(() => {
    setState((known) => (known.language === language ? known : { message: undefined, language }))
  }, [language])
  return {
    message: state.language === language ? state.message : undefined,
    setMessage: (message: Message | undefined) => setState({ message, language }),
    /** Removes this message, but not a newer one, which may not be drawn yet. */
    clearMessage: (message: Message) =>
      setState((known) => (known.message === message ? { message: undefined, language } : known)),
  }
}

/** A link to SUPPORT_URL, below a sentence that sends the user to the administrator. Nothing is shown without the setting. */
export const HelpLink = () => {
  const { supportUrl } = useSettings()
  const { getHelp } = useWords('common')
  return supportUrl === undefined ? null : <a href={supportUrl}>{mailAddressIn(supportUrl) ?? getHelp}</a>
}
