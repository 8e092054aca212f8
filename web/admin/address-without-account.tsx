import { Notice } from '../components/notice.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { timeAgo } from '../words/dates.js'
import { fill } from '../words/format.js'
import { calls } from './calls.js'
import { listFragment } from './place.js'
import { useRead } from './use-read.js'

/** Shows what is known about an email address that no user has. */
export const AddressWithoutAccount = ({ search }: { search: string }) => {
  const { userList: words, invitations } = useWords('admin')
  const { locale } = useSettings()
  const { value } = useRead(() => calls.users({ search, group: '', state: '', factor: '', after: '' }), search)
  const withoutAccount = value?.withoutAccount
  if (!withoutAccount) return null
  const { email, invitedAt, registeredAt } = withoutAccount
  const sentences = [
    ...(registeredAt === null ? [] : [fill(words.registered, { email, ago: timeAgo(registeredAt, locale) })]),
    ...(invitedAt === null ? [] : [fill(words.invited, { email, ago: timeAgo(invitedAt, locale) })]),
  ]
  return (
    <Notice kind="info" after={invitedAt !== null && <a href={listFragment('invitations')}>{invitations}</a>}>
      {sentences.join(' ')}
    </Notice>
  )
}
