import type { NamedApplication } from '#contract/schemas.js'
import { nameOfApplicationIn } from '../browser/applications.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'

type Props = {
  returnTo: string | undefined
  /** The step that the visitor takes on this page. */
  step?: 'sign-in' | 'other'
  /** The application whose request waits in another browser, if this browser has none (see `GoBack`). */
  applicationElsewhere?: NamedApplication | undefined
}

/** Says to which application the page leads. Shows nothing if the visitor does not come from an application. */
export const ContinuesTo = ({ returnTo, step = 'other', applicationElsewhere }: Props) => {
  const words = useWords('common')
  const nameInThisBrowser = nameOfApplicationIn(returnTo)
  const application = nameInThisBrowser ?? applicationElsewhere?.name
  if (application === undefined) return null
  const sentence = step === 'sign-in' ? words.toContinueTo : words.thenContinueTo
  return <p class="lead">{fill(nameInThisBrowser === undefined ? words.thenGoBack : sentence, { application })}</p>
}
