import { useWords } from '../hooks/settings.js'
import { Announced } from './announced.js'
import { Card } from './card.js'

/** Shown until it is known what the page should show. */
export const LoadingCard = () => (
  <Card>
    <Announced class="lead" text={useWords('common').oneMoment} />
  </Card>
)
