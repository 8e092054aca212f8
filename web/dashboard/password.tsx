import { useEffect } from 'preact/hooks'
import type { Account } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { setPasswordPath, withReturnTo } from '../browser/navigation.js'
import { Button } from '../components/button.js'
import { Field, HiddenUsername } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { NewPasswordField, useNewPasswordProblems } from '../components/new-password.js'
import { HelpLink } from '../components/notice.js'
import { useDisclosure } from '../hooks/focus.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useDashboardActions, useFormProblems } from './panels.js'
import { AccountPanel } from './sections.js'

type Props = { account: Account }

/** `/.well-known/change-password` leads here: password managers open it for users who want to change their password. */
const isInAddress = () => location.hash === '#password'

export const PasswordPanel = ({ account }: Props) => {
  const words = useWords('dashboard')
  const common = useWords('common')
  const { isOpen, setOpen, containerProps } = useDisclosure({ 'aria-label': words.newPasswordForm }, isInAddress)
  useEffect(() => {
    const onHashChange = () => isInAddress() && setOpen(true)
    addEventListener('hashchange', onHashChange)
    return () => removeEventListener('hashchange', onHashChange)
  }, [setOpen])
  const { mailIsOff } = useSettings()
  if (!account.hasPassword) {
    return (
      <AccountPanel
        place="password"
        title={common.password}
        state={{ text: words.passwordNotSet, look: 'off' }}
        lead={mailIsOff ? words.setByAdministrator : words.setByMail}
      >
        {mailIsOff ? (
          <HelpLink />
        ) : (
          <a class="button" href={withReturnTo(setPasswordPath, location.pathname)}>
            {words.setPassword}
          </a>
        )}
      </AccountPanel>
    )
  }
  return (
    <AccountPanel
      place="password"
      title={common.password}
      state={{ text: words.passwordSet, look: 'on' }}
      lead={words.changeLead}
    >
      <div {...containerProps}>
        {isOpen ? (
          <ChangePassword account={account} onDone={() => setOpen(false)} />
        ) : (
          <Button onPress={() => setOpen(true)}>{words.changePassword}</Button>
        )}
      </div>
    </AccountPanel>
  )
}

const ChangePassword = ({ account, onDone }: Props & { onDone: () => void }) => {
  const words = useWords('dashboard')
  const passwordWords = useWords('password')
  const actions = useDashboardActions()
  const problemsOf = useFormProblems(
    useNewPasswordProblems('newPassword', {
      wrong_current_password: 'currentPassword',
      password_unchanged: 'newPassword',
    }),
  )

  const submit = async ({ currentPassword = '', newPassword = '' }: Values): Promise<Problems | undefined> => {
    const answer = await actions.withFreshSignIn(() => client.changePassword({ currentPassword, newPassword }))
    if (answer.refused) return problemsOf(answer)
    onDone()
    actions.showSuccess(words.passwordChanged)
    await actions.reload()
    return undefined
  }

  return (
    <>
      <Form submitLabel={words.changePassword} onSubmit={submit}>
        <HiddenUsername username={account.username} />
        <Field
          name="currentPassword"
          label={words.currentPassword}
          type="password"
          autoComplete="current-password"
          focused
        />
        <NewPasswordField name="newPassword" label={passwordWords.newPassword} />
      </Form>
      <Button look="quiet" onPress={onDone}>
        {words.cancel}
      </Button>
    </>
  )
}
