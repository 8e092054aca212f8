import { useCommonWords } from '../settings.js'
import { Card } from './card.js'

/** Stands there until it is known what the page should show. */
export const OneMoment = () => (
  <Card>
    <p class="lead" role="status">
      {useCommonWords().oneMoment}
    </p>
  </Card>
)
