import type { NamedApplication } from '#contract/schemas.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'

/**
 * For a mail that was opened in another browser than the one that the application has sent here. Its request waits there and can be
 * answered there only; here the user can begin a new one.
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
