import { useEffect, useRef, useState } from 'preact/hooks'
import { longestTokenName } from '#contract/name-lengths.js'
import type { PersonalToken, PersonalTokens } from '#contract/personal-tokens.js'
import { client } from '../browser/client.js'
import { Button, CopyButton } from '../components/button.js'
import { Field, SelectField } from '../components/field.js'
import { Form, type Values } from '../components/form.js'
import { Announced } from '../components/notice.js'
import { isFocusLost, moveFocusTo, useDisclosure } from '../hooks/focus.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fullDate, isNow, timeAgo } from '../words/dates.js'
import { fill } from '../words/format.js'
import { useProblems } from '../words/refusals.js'
import { AskFirst, useDashboardActions, useFormProblems } from './panels.js'
import { AccountPanel } from './sections.js'

type Props = { known: PersonalTokens }

/** The tokens with which programs of the user enter applications behind a proxy. */
export const TokensPanel = ({ known: { tokens, applications } }: Props) => {
  const words = useWords('tokens')
  const list = useRef<HTMLUListElement>(null)
  const endedId = useRef<string | undefined>(undefined)
  useEffect(() => {
    const isGone = endedId.current !== undefined && !tokens.some(({ id }) => id === endedId.current)
    // The pressed button is gone. A second press must not reach the next one.
    if (isGone && isFocusLost()) moveFocusTo(list.current)
    if (isGone) endedId.current = undefined
  }, [tokens])
  // Where no application takes tokens, there is nothing to say. Once the panel was shown it stays, because the focus would be lost with it.
  const isShown = useRef(false)
  if (tokens.length + applications.length > 0) isShown.current = true
  if (!isShown.current) return null
  return (
    <AccountPanel place="tokens" title={words.title} lead={words.lead}>
      <ul class="row-list" ref={list} aria-label={words.title}>
        {tokens.map((token) => (
          <TokenRow key={token.id} token={token} onEnded={() => (endedId.current = token.id)} />
        ))}
        {tokens.length === 0 && <li class="panel-lead">{words.none}</li>}
      </ul>
      {applications.length > 0 && <NewToken applications={applications} />}
    </AccountPanel>
  )
}

const TokenRow = ({ token, onEnded }: { token: PersonalToken; onEnded: () => void }) => {
  const words = useWords('tokens')
  const dashboard = useWords('dashboard')
  const actions = useDashboardActions()
  const { locale } = useSettings()
  const { id, name, applications, expiresAt, lastUsedAt } = token
  const lastUse = () => {
    if (lastUsedAt === null) return words.neverUsed
    return isNow(lastUsedAt) ? dashboard.activeNow : fill(dashboard.lastUsed, { when: timeAgo(lastUsedAt, locale) })
  }
  const end = async () => {
    const answer = await client.endToken(id)
    onEnded()
    await actions.reload()
    // `not_found` means that the token had ended before, which is what the user wanted.
    if (answer.refused && answer.refused !== 'not_found') actions.showRefusal(answer)
    else actions.showSuccess(fill(words.ended, { name }))
  }
  return (
    <li>
      <div class="row-body">
        <div class="row-text">
          <strong>{name}</strong>
          <span>{applications.map((application) => application.name).join(', ') || words.noApplication}</span>
          <span>
            {lastUse()} · {fill(words.until, { date: fullDate(expiresAt, locale) })}
          </span>
        </div>
        <AskFirst
          label={words.end}
          name={fill(words.endOf, { name })}
          question={words.endAsk}
          confirmLabel={words.endSure}
          onConfirm={end}
        />
      </div>
    </li>
  )
}

type NewProps = { applications: PersonalTokens['applications'] }

/** A button, then the form, then the token, which is shown once. */
const NewToken = ({ applications }: NewProps) => {
  const words = useWords('tokens')
  const { reload } = useDashboardActions()
  const { isOpen, setOpen, containerProps } = useDisclosure({ 'aria-label': words.make })
  const [made, setMade] = useState<string>()
  const close = async () => {
    setMade(undefined)
    setOpen(false)
    await reload()
  }
  return (
    <div {...containerProps}>
      {!isOpen && <Button onPress={() => setOpen(true)}>{words.make}</Button>}
      {isOpen && made === undefined && (
        <TokenForm applications={applications} onMade={setMade} onCancel={() => setOpen(false)} />
      )}
      {isOpen && made !== undefined && <MadeToken token={made} onDone={close} />}
    </div>
  )
}

const MadeToken = ({ token, onDone }: { token: string; onDone: () => Promise<void> }) => {
  const words = useWords('tokens')
  const secret = useRef<HTMLElement>(null)
  useEffect(() => moveFocusTo(secret.current), [])
  return (
    <>
      <Announced class="panel-lead" text={words.made} />
      <p>
        {words.token}{' '}
        <code class="secret" ref={secret}>
          {token}
        </code>
      </p>
      <p class="panel-lead">{words.howToUse}</p>
      <div class="button-row">
        <CopyButton text={token} label={words.copy} copiedLabel={words.copied} />
        <Button look="primary" onPress={onDone}>
          {words.saved}
        </Button>
      </div>
    </>
  )
}

const prefix = 'application:'
const lifetimes = [7, 30, 90, 180, 365]
const usualDays = '90'

type FormProps = NewProps & { onMade: (token: string) => void; onCancel: () => void }

const TokenForm = ({ applications, onMade, onCancel }: FormProps) => {
  const words = useWords('tokens')
  const { withFreshSignIn } = useDashboardActions()
  const problemsOf = useFormProblems(useProblems({ bad_request: 'name' }))
  const make = async ({ name = '', days = usualDays, ...values }: Values) => {
    const chosen = Object.keys(values).flatMap((key) => (key.startsWith(prefix) ? key.slice(prefix.length) : []))
    if (chosen.length === 0) return { notice: words.chooseOne }
    const token = { name: name.trim(), applications: chosen, expiresInDays: Number(days) }
    const answer = await withFreshSignIn(() => client.makeToken(token))
    if (answer.refused) return problemsOf(answer)
    onMade(answer.value.token)
    return undefined
  }
  return (
    <>
      <Form submitLabel={words.make} look="plain" onSubmit={make}>
        <Field
          name="name"
          label={words.name}
          hint={words.nameHint}
          autoComplete="off"
          maxLength={longestTokenName}
          focused="chosen"
        />
        <fieldset class="choices">
          <legend>{words.applications}</legend>
          {applications.map(({ id, name }) => (
            <label key={id} class="check">
              <input type="checkbox" name={prefix + id} defaultChecked={applications.length === 1} /> {name}
            </label>
          ))}
        </fieldset>
        <SelectField
          name="days"
          label={words.lifetime}
          defaultValue={usualDays}
          choices={lifetimes.map((days) => ({ value: `${days}`, label: fill(words.days, { count: `${days}` }) }))}
        />
      </Form>
      <Button look="quiet" onPress={onCancel}>
        {useWords('dashboard').cancel}
      </Button>
    </>
  )
}
