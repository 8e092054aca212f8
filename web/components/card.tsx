import type { ComponentChildren } from 'preact'
import { useSettings } from '../settings.js'

/** The one card of a small page, and the line below it. */
export const Card = ({ children, footer }: { children: ComponentChildren; footer?: ComponentChildren }) => {
  const { development, words } = useSettings()
  return (
    <>
      <section class="card">{children}</section>
      {footer !== undefined && <p class="card-footer">{footer}</p>}
      {development && (
        <p class="card-footer development-link">
          <a href="/dev/mailbox">{words.common.developmentMailbox}</a>
        </p>
      )}
    </>
  )
}
