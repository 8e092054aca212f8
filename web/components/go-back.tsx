import type { NamedApplication } from '#contract/schemas.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'

/**
 * For a mail that the user has opened in another browser than the one that the application sent to us. The request of the application
 * can be answered only in that other browser; in this one the user can begin a new request.
 */
export const GoBack = ({ application: { name, home } }: { application: NamedApplication }) => {
  const words = useWords('common')
  return (
    <>
      <p class="lead">{fill(words.goBack, { application: name })}</p>
      <a class="button primary" href={home}>
        {fill(words.startAt, { application: name })}
      </a>
    </>
  )
}
