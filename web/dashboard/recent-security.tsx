import { useEffect, useState } from 'preact/hooks'
import type { AccountEvent } from '#contract/schemas.js'
import { askService } from '../browser/client.js'
import { siteStorage } from '../browser/storage.js'
import { Button } from '../components/button.js'
import { HelpLink } from '../components/notice.js'
import { Panel } from '../components/panel.js'
import { moveFocusTo } from '../hooks/focus.js'
import { useWords } from '../hooks/settings.js'
import { EventList } from './events-panel.js'

/** Kept in each browser, so that a thief who has seen the events in another one does not hide them from the owner. */
const keyOf = (userId: string) => `latchkey.seen-activity.${userId}`

/**
 * What a mail would have told the owner, where nothing is mailed or the address was never proven. It comes first until the owner has looked at it. What the user changes on
 * this page is not added, because they know of it.
 */
export const RecentSecurity = ({ userId }: { userId: string }) => {
  const { recentSecurity: words } = useWords('dashboard')
  const [unseen, setUnseen] = useState<AccountEvent[]>([])
  useEffect(() => {
    const load = async () => {
      const answer = await askService<{ events: AccountEvent[] }>('events?security=true')
      if (answer.refused) return
      // The ids of events are ordered by time.
      const lastSeen = siteStorage.read(keyOf(userId)) ?? ''
      setUnseen(answer.value.events.filter(({ id }) => id > lastSeen))
    }
    void load()
  }, [userId])
  const [newest] = unseen
  if (!newest) return null
  const close = () => {
    siteStorage.write(keyOf(userId), newest.id)
    setUnseen([])
    moveFocusTo(document.querySelector('h1'))
  }
  return (
    <div class="recent-security">
      <Panel title={words.title} lead={words.lead}>
        <EventList events={unseen} />
        <p class="panel-lead">
          {words.notYou} <HelpLink />
        </p>
        <Button onPress={close}>{words.seen}</Button>
      </Panel>
    </div>
  )
}
