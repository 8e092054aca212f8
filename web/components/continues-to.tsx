import { applicationToReturnTo } from '../browser/applications.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'

type Props = {
  returnTo: string | undefined
  /** What the visitor does on this page. */
  step?: 'sign-in' | 'other'
}

/** To which application the page leads. Nothing, if the visitor comes from none. */
export const ContinuesTo = ({ returnTo, step = 'other' }: Props) => {
  const words = useWords('common')
  const application = applicationToReturnTo(returnTo)
  if (application === undefined) return null
  return <p class="lead">{fill(step === 'sign-in' ? words.toContinueTo : words.thenContinueTo, { application })}</p>
}
