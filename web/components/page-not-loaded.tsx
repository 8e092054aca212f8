import type { Refusal } from '#client/client.js'
import { useWords } from '../hooks/settings.js'
import { useRefusalSentence } from '../words/refusals.js'
import { Card } from './card.js'
import { ContinuesTo } from './continues-to.js'
import { Heading } from './heading.js'
import { Notice } from './notice.js'
import { TryAgain } from './try-again.js'

type Props = {
  refusal: Refusal
  /** The address to which the page would lead. */
  returnTo?: string | undefined
  /** Other texts, if what failed is a request that the visitor has sent, and not the loading of the page. */
  failureTexts?: { heading: string; lead: string } | undefined
  onTryAgain: () => Promise<void>
}

/** A page that needs an answer of the service before it can show anything, and did not get it. */
export const PageNotLoaded = ({ refusal, returnTo, failureTexts, onTryAgain }: Props) => {
  const { pageNotLoaded } = useWords('common')
  const sentenceOf = useRefusalSentence()
  return (
    <Card>
      <Heading text={failureTexts?.heading ?? pageNotLoaded} focused={failureTexts !== undefined} />
      <Notice kind="error">{sentenceOf(refusal)}</Notice>
      {failureTexts ? <p class="lead">{failureTexts.lead}</p> : <ContinuesTo returnTo={returnTo} />}
      <TryAgain onPress={onTryAgain} />
    </Card>
  )
}
