import { useId, useState } from 'preact/hooks'
import {
  si1password,
  siApple,
  siBitwarden,
  siDashlane,
  siEnpass,
  siGoogle,
  siGooglechrome,
  siKeepassxc,
  siKeeper,
  siProton,
} from 'simple-icons'
import { longestPasskeyName } from '#contract/name-lengths.js'
import type { Factors, Passkey } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { Button, staysBusy } from '../components/button.js'
import { Field } from '../components/field.js'
import { Form, type Values } from '../components/form.js'
import { returnToApplication } from '../components/from-application.js'
import { KeyIcon, Mark } from '../components/icons.js'
import { Notice, useMessage } from '../components/notice.js'
import { useDisclosure } from '../hooks/focus.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { makePasskey, passkeySupport, signalPasskeys } from '../sign-in/passkeys.js'
import { fullDate } from '../words/dates.js'
import { countText, fill } from '../words/format.js'
import { useProblems } from '../words/refusals.js'
import { Question, useDashboardActions, useFormProblems } from './panels.js'
import { AccountPanel } from './sections.js'

type Props = { factors: Factors }

/** Passkeys: add, name, remove. */
export const PasskeysPanel = ({ factors }: Props) => {
  const words = useWords('passkeys')
  const { secondFactor, locale } = useSettings()
  const count = factors.passkeys.length
  const isNeeded = secondFactor === 'required' && !factors.totp && count === 1
  return (
    <AccountPanel
      place="passkeys"
      title={words.title}
      state={{ text: countText(words.count, count, locale), look: count > 0 ? 'on' : 'off' }}
      lead={words.lead}
      step={factors.passkeys.map(({ id }) => id).join(' ')}
    >
      {count > 0 && (
        <ul class="row-list">
          {factors.passkeys.map((passkey) => (
            <PasskeyRow key={passkey.id} passkey={passkey} isNeeded={isNeeded} />
          ))}
        </ul>
      )}
      {isNeeded && <p class="panel-lead">{words.needed}</p>}
      <AddPasskey factors={factors} />
    </AccountPanel>
  )
}

const AddPasskey = ({ factors }: Props) => {
  const words = useWords('passkeys')
  const actions = useDashboardActions()
  /** `of`: the factors that the page showed when the problem came. The problem is not shown with newer ones. */
  const { message: problem, setMessage: setProblem } = useMessage<{ text: string; of: Factors }>()
  const support = passkeySupport()
  if (support !== 'yes') return <p class="panel-lead">{support === 'no' ? words.unsupported : words.numericAddress}</p>

  const add = async () => {
    setProblem(undefined)
    const options = await actions.withFreshSignIn(client.passkeyOptions)
    if (options.refused) return actions.showRefusal(options)
    const credential = await makePasskey(options.value)
    if (credential === 'exists') return setProblem({ text: words.exists, of: factors })
    if (credential === 'address') return setProblem({ text: words.wrongAddress, of: factors })
    if (credential === 'cancelled') return undefined
    const added = await client.addPasskey({ credential })
    if (added.refused) return actions.showRefusal(added)
    if (returnToApplication()) return staysBusy
    actions.showSuccess(fill(words.added, { name: added.value.name }))
    return actions.reload()
  }

  return (
    <>
      {problem?.of === factors && <Notice kind="info">{problem.text}</Notice>}
      <Button onPress={add}>{words.add}</Button>
    </>
  )
}

/** The marks of password managers, by the name that a new passkey of theirs gets. */
const marks = new Map<string, string>([
  ['iCloud Keychain', siApple.path],
  ['Google Password Manager', siGoogle.path],
  ['Chrome on Mac', siGooglechrome.path],
  ['1Password', si1password.path],
  ['Bitwarden', siBitwarden.path],
  ['Dashlane', siDashlane.path],
  ['Keeper', siKeeper.path],
  ['Enpass', siEnpass.path],
  ['Proton Pass', siProton.path],
  ['KeePassXC', siKeepassxc.path],
])

const PasskeyMark = ({ name }: { name: string }) => {
  const path = marks.get(name)
  return path === undefined ? <KeyIcon /> : <Mark path={path} />
}

type RowProps = { passkey: Passkey; isNeeded: boolean }

const PasskeyRow = ({ passkey, isNeeded }: RowProps) => {
  const words = useWords('passkeys')
  const { reload } = useDashboardActions()
  const { locale } = useSettings()
  const { name, createdAt, lastUsedAt, synced } = passkey
  const questionId = useId()
  const [openPart, setOpenPart] = useState<'rename' | 'remove'>('rename')
  const { isOpen, setOpen, containerProps } = useDisclosure(
    openPart === 'remove' ? { 'aria-labelledby': questionId } : { 'aria-label': name },
  )
  const open = (part: 'rename' | 'remove') => {
    setOpenPart(part)
    setOpen(true)
  }
  const facts = [
    fill(words.created, { date: fullDate(createdAt, locale) }),
    lastUsedAt === null ? words.neverUsed : fill(words.used, { date: fullDate(lastUsedAt, locale) }),
    ...(synced ? [words.synced] : []),
  ]
  const closeAndReload = async () => {
    setOpen(false)
    await reload()
  }
  return (
    <li>
      <div class={isOpen && openPart === 'rename' ? 'row-body passkey-row changing' : 'row-body passkey-row'}>
        {/* The form shows the name, in the place of the row. */}
        {!(isOpen && openPart === 'rename') && (
          <>
            <PasskeyMark name={name} />
            <div class="row-text">
              <strong>{name}</strong>
              <span>{facts.join(' · ')}</span>
            </div>
          </>
        )}
        <div {...containerProps}>
          {!isOpen ? (
            <div class="button-row">
              <Button label={fill(words.renameOf, { name })} onPress={() => open('rename')}>
                {words.rename}
              </Button>
              {!isNeeded && (
                <Button label={fill(words.removeOf, { name })} onPress={() => open('remove')}>
                  {words.remove}
                </Button>
              )}
            </div>
          ) : openPart === 'rename' ? (
            <RenamePasskey passkey={passkey} onDone={closeAndReload} onCancel={() => setOpen(false)} />
          ) : (
            <RemovePasskey
              passkey={passkey}
              questionId={questionId}
              onDone={closeAndReload}
              onCancel={() => setOpen(false)}
            />
          )}
        </div>
      </div>
    </li>
  )
}

type ChangeProps = { passkey: Passkey; onDone: () => Promise<void>; onCancel: () => void }

const RenamePasskey = ({ passkey, onDone, onCancel }: ChangeProps) => {
  const words = useWords('passkeys')
  const { showSuccess } = useDashboardActions()
  const problemsOf = useFormProblems(useProblems({ bad_request: 'name', not_found: 'name' }))
  const rename = async ({ name = '' }: Values) => {
    const answer = await client.renamePasskey(passkey.id, { name: name.trim() })
    if (answer.refused) return problemsOf(answer)
    showSuccess(fill(words.renamed, { name: answer.value.name }))
    await onDone()
    return undefined
  }
  return (
    <>
      <Form submitLabel={words.save} onSubmit={rename}>
        <Field
          name="name"
          label={words.name}
          autoComplete="off"
          maxLength={longestPasskeyName}
          defaultValue={passkey.name}
          focused="selected"
        />
      </Form>
      <Button look="quiet" onPress={onCancel}>
        {useWords('dashboard').cancel}
      </Button>
    </>
  )
}

/** Asks for a second press, because the user cannot sign in with the passkey afterwards. */
const RemovePasskey = ({ passkey, questionId, onDone, onCancel }: ChangeProps & { questionId: string }) => {
  const words = useWords('passkeys')
  const actions = useDashboardActions()
  const remove = async () => {
    const answer = await actions.withFreshSignIn(() => client.removePasskey(passkey.id))
    if (answer.refused) return actions.showRefusal(answer)
    await signalPasskeys(client.passkeyOptions)
    actions.showSuccess(words.removed)
    await onDone()
  }
  return (
    <Question
      question={words.removeAsk}
      questionId={questionId}
      confirmLabel={words.removeSure}
      onConfirm={remove}
      onCancel={onCancel}
    />
  )
}
