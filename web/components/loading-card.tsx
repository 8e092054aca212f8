import { useSettings, useWords } from '../hooks/settings.js'
import { Announced } from './announced.js'
import { Card } from './card.js'

/** Shown below the title of the page until it is known what the page should show. */
export const LoadingCard = () => {
  const [pageWords] = Object.values(useSettings().words)
  const { oneMoment } = useWords('common')
  return (
    <Card>
      {pageWords && 'title' in pageWords && <h1>{pageWords.title}</h1>}
      <Announced class="lead" text={oneMoment} />
      <div class="skeleton" aria-hidden="true">
        <span />
        <span />
        <span />
      </div>
    </Card>
  )
}
