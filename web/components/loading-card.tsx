import { useWords } from '../hooks/settings.js'
import { Card } from './card.js'

/** Shown until it is known what the page should show. */
export const LoadingCard = () => (
  <Card>
    <p class="lead" role="status">
      {useWords('common').oneMoment}
    </p>
  </Card>
)
