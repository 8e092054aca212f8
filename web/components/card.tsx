import type { ComponentChildren } from 'preact'
import { useSettings, useWords } from '../hooks/settings.js'

/** The card of a small page, and the line below it. */
export const Card = ({ children, footer }: { children: ComponentChildren; footer?: ComponentChildren }) => {
  const { hasMailbox } = useSettings()
  const words = useWords('common')
  return (
    <>
      <section class="card">{children}</section>
      {footer !== undefined && <p class="card-footer">{footer}</p>}
      {hasMailbox && (
        <p class="card-footer development-link">
          <a href="/dev/mailbox">{words.developmentMailbox}</a>
        </p>
      )}
    </>
  )
}
