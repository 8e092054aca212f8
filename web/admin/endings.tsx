import { Card } from '../components/card.js'
import { Heading } from '../components/heading.js'
import { useWords } from '../hooks/settings.js'

/** For a visitor who is no administrator: the same page as at an address that does not exist. */
export const NothingHere = () => {
  const words = useWords('not-found')
  return (
    <Card>
      <Heading text={words.heading} />
      <p class="lead">{words.text}</p>
      <a class="button primary" href="/">
        {words.action}
      </a>
    </Card>
  )
}

/** For a user who was an administrator until a moment ago. */
export const AccessLost = () => {
  const words = useWords('admin')
  return (
    <Card>
      <Heading text={words.lostHeading} focused />
      <p class="lead">{words.lost}</p>
      <a class="button primary" href="/api/auth/account-page">
        {words.toAccount}
      </a>
    </Card>
  )
}
