import { useState } from 'preact/hooks'
import type { PersonalToken } from '#contract/personal-tokens.js'
import { Button } from '../components/button.js'
import { Panel } from '../components/panel.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { dateWithZone, timeAgo } from '../words/dates.js'
import { fill } from '../words/format.js'
import { calls } from './calls.js'
import { ChangeDialog, ReasonField } from './change-dialog.js'
import { RowList } from './table.js'
import { type UserProps, useWhyUnchangeable } from './user-changes.js'

/** With these, programs of the user enter applications behind a proxy. */
export const TokensOf = (props: UserProps) => {
  const { tokens: words, user } = useWords('admin')
  const dashboard = useWords('dashboard')
  const { locale } = useSettings()
  const [chosen, setChosen] = useState<PersonalToken>()
  const mayChange = useWhyUnchangeable(props.user) === undefined
  return (
    <Panel title={words.heading}>
      <RowList empty={words.none}>
        {props.user.tokens.map((token) => (
          <li key={token.id}>
            <div class="row-body">
              <div class="row-text">
                <strong>{token.name}</strong>
                <span>{token.applications.map(({ name }) => name).join(', ') || user.noApplications}</span>
                <span>{fill(dashboard.sessionSince, { date: dateWithZone(token.createdAt, locale) })}</span>
                {token.lastUsedAt !== null && (
                  <span>{fill(dashboard.lastUsed, { when: timeAgo(token.lastUsedAt, locale) })}</span>
                )}
              </div>
              {mayChange && <Button onPress={() => setChosen(token)}>{words.end}</Button>}
            </div>
          </li>
        ))}
      </RowList>
      {chosen && <EndDialog {...props} token={chosen} onClose={() => setChosen(undefined)} />}
    </Panel>
  )
}

const EndDialog = ({ user, reload, token, onClose }: UserProps & { token: PersonalToken; onClose: () => void }) => {
  const { tokens: words } = useWords('admin')
  const values = { username: user.username, name: token.name }
  return (
    <ChangeDialog
      title={fill(words.title, values)}
      lead={words.lead}
      userNotice={fill(words.told, values)}
      submitLabel={words.action}
      look="danger"
      call={({ reason = '' }) => calls.endToken(user.id, { token: token.id, reason })}
      successMessage={() => fill(words.done, values)}
      onDone={reload}
      onClose={onClose}
    >
      <ReasonField />
    </ChangeDialog>
  )
}
