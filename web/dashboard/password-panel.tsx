import { useEffect } from 'preact/hooks'
import { type Account, api } from '../api.js'
import { Button } from '../components/button.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { NewPasswordField } from '../components/new-password-field.js'
import { UsernameForManagers } from '../components/username-for-managers.js'
import { useChoice } from '../focus.js'
import { translateMessage } from '../passwords.js'
import { sentenceFor } from '../refusals.js'
import { isSignedOut } from '../requests.js'
import type { Settings } from '../settings.js'
import { useDashboardActions } from './dashboard-actions.js'
import { Panel } from './panel.js'

type Props = { account: Account; settings: Settings<'dashboard'> }

const anchor = 'password'

/** `/.well-known/change-password` leads here: password managers send people who want to change their password there. */
const isAskedFor = () => location.hash === `#${anchor}`

export const PasswordPanel = ({ account, settings }: Props) => {
  const { dashboard: words, common } = settings.words
  const { open, setOpen, frame } = useChoice(words.changePassword, isAskedFor)
  useEffect(() => {
    const onHash = () => isAskedFor() && setOpen(true)
    addEventListener('hashchange', onHash)
    return () => removeEventListener('hashchange', onHash)
  }, [])
  if (!account.hasPassword) {
    return (
      <Panel title={common.password} lead={words.setByMail} anchor={anchor}>
        <a class="button" href="/forgot-password">
          {words.setPassword}
        </a>
      </Panel>
    )
  }
  return (
    <Panel title={common.password} lead={words.changeLead} anchor={anchor}>
      <div {...frame}>
        {open ? (
          <ChangePassword account={account} settings={settings} onDone={() => setOpen(false)} />
        ) : (
          <Button onPress={() => setOpen(true)}>{words.changePassword}</Button>
        )}
      </div>
    </Panel>
  )
}

const ChangePassword = ({ account, settings, onDone }: Props & { onDone: () => void }) => {
  const { dashboard: words, common, password: passwordWords } = settings.words
  const actions = useDashboardActions()

  const submit = async ({ currentPassword = '', newPassword = '' }: Values): Promise<Problems | undefined> => {
    const answer = await api.changePassword(currentPassword, newPassword)
    if (answer.ok) {
      onDone()
      actions.tell(words.passwordChanged)
      await actions.reload()
      return undefined
    }
    const { refusal } = answer
    if (isSignedOut(refusal)) {
      actions.refuse(refusal)
      return undefined
    }
    if (refusal.status === 401) return { fields: { currentPassword: [words.wrongPassword] } }
    if (refusal.status === 422) {
      return { fields: { newPassword: refusal.errors.map((message) => translateMessage(message, passwordWords)) } }
    }
    return { notice: sentenceFor(refusal, common), retryAfter: refusal.retryAfter }
  }

  return (
    <>
      <Form submitLabel={words.changePassword} onSubmit={submit}>
        <UsernameForManagers username={account.username} />
        <Field
          name="currentPassword"
          label={words.currentPassword}
          type="password"
          autoComplete="current-password"
          focused
        />
        <NewPasswordField name="newPassword" label={passwordWords.newPassword} words={passwordWords} />
      </Form>
      <Button look="quiet" onPress={onDone}>
        {words.cancel}
      </Button>
    </>
  )
}
