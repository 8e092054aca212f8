import type { AdminUser } from '#contract/admin/admin-bodies.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { dateWithSecondsAndZone, fullDate, timeAgo } from '../words/dates.js'
import { fragmentOf } from './place.js'

export const UserLink = ({ id, username }: Pick<AdminUser, 'id' | 'username'>) => (
  <a href={fragmentOf('users', id)}>{username}</a>
)

export const StateBadge = ({ disabled, lockedDown }: Pick<AdminUser, 'disabled' | 'lockedDown'>) => {
  const { userList } = useWords('admin')
  if (lockedDown) return <span class="badge bad">{userList.lockedDown}</span>
  return <span class={disabled ? 'badge bad' : 'badge'}>{disabled ? userList.disabled : userList.active}</span>
}

/** "3 minutes ago", with the whole date as a tooltip. */
export const Ago = ({ moment }: { moment: string | null }) => {
  const { never } = useWords('admin')
  const { locale } = useSettings()
  if (moment === null) return <span class="muted">{never}</span>
  return (
    <time dateTime={moment} title={dateWithSecondsAndZone(moment, locale)}>
      {timeAgo(moment, locale)}
    </time>
  )
}

/** The date, with its time zone as a tooltip. */
export const At = ({ moment }: { moment: string }) => {
  const { locale } = useSettings()
  return (
    <time dateTime={moment} title={dateWithSecondsAndZone(moment, locale)}>
      {fullDate(moment, locale)}
    </time>
  )
}

/** Names of groups, or a word for none. */
export const GroupNames = ({ groups }: Pick<AdminUser, 'groups'>) => {
  const { none } = useWords('admin')
  if (groups.length === 0) return <span class="muted">{none}</span>
  return (
    <ul class="tags">
      {groups.map((group) => (
        <li key={group}>{group}</li>
      ))}
    </ul>
  )
}
