import { slow, useAnnouncement } from '../hooks/announcement.js'
import { useWords } from '../hooks/settings.js'
import { Card } from './card.js'

/** Shown until it is known what the page should show. */
export const LoadingCard = () => {
  const { oneMoment } = useWords('common')
  useAnnouncement(oneMoment, slow)
  return (
    <Card>
      <p class="lead">{oneMoment}</p>
    </Card>
  )
}
