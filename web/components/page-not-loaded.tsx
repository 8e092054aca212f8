import type { Refusal } from '#client/client.js'
import { useWords } from '../hooks/settings.js'
import { useSentences } from '../words/refusals.js'
import { Card } from './card.js'
import { Heading } from './heading.js'
import { Notice } from './notice.js'
import { TryAgain } from './try-again.js'

type Props = { refused: Refusal; onTryAgain: () => Promise<void> }

/** A page that needs an answer of the service before it can show anything, and did not get it. */
export const PageNotLoaded = ({ refused, onTryAgain }: Props) => {
  const { pageNotLoaded } = useWords('common')
  const sentenceFor = useSentences()
  return (
    <Card>
      <Heading text={pageNotLoaded} />
      <Notice kind="error">{sentenceFor(refused)}</Notice>
      <TryAgain onPress={onTryAgain} />
    </Card>
  )
}
