import type { NamedApplication } from '#contract/schemas.js'
import { applicationToReturnTo } from '../browser/applications.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'

type Props = {
  returnTo: string | undefined
  /** The step that the visitor takes on this page. */
  step?: 'sign-in' | 'other'
  /** The application whose request waits in another browser, if this one has none: see `GoBack`. */
  elsewhere?: NamedApplication | undefined
}

/** To which application the page leads. Nothing, if the visitor comes from none. */
export const ContinuesTo = ({ returnTo, step = 'other', elsewhere }: Props) => {
  const words = useWords('common')
  const here = applicationToReturnTo(returnTo)
  const application = here ?? elsewhere?.name
  if (application === undefined) return null
  const sentence = step === 'sign-in' ? words.toContinueTo : words.thenContinueTo
  return <p class="lead">{fill(here === undefined ? words.thenGoBack : sentence, { application })}</p>
}
