import { type Language, languageName } from '#contract/languages.js'
import type { UndoState } from '#contract/mailed-links.js'
import { isUndoOfEmail } from '#contract/pages.js'
import { client } from '../browser/client.js'
import { mount } from '../browser/mount.js'
import { Card, LoadingCard, MessageCard, PageNotLoaded } from '../components/card.js'
import { HiddenUsername } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { Heading } from '../components/heading.js'
import { NewPasswordField, useNewPasswordProblems } from '../components/new-password.js'
import { isDeadLink, useLinkToken, useMailedLink } from '../hooks/mailed-link.js'
import { useSettings, useWords } from '../hooks/settings.js'
import type { Words } from '../words/catalogue.js'
import { fill } from '../words/format.js'

/** The form that takes a change back. Nothing changes before its button is pressed: mail scanners open links too. */
const Undo = () => {
  const words = useWords('undo')
  const token = useLinkToken()
  if (token !== undefined) return <ByLink key={token} token={token} />
  return <MessageCard heading={words.title} kind="info" text={words.noLink} />
}

/** The effects of the button, a sentence for each. */
const effectsOf = (
  { changesBack: { email, username, language, totp }, removes }: UndoState,
  words: Words['undo']['effects'],
  pageLanguage: Language,
) => [
  ...(email === null ? [] : [fill(words.email, { email })]),
  ...(username === null ? [] : [fill(words.username, { username })]),
  ...(language === null ? [] : [fill(words.language, { language: languageName(language, pageLanguage) })]),
  ...(removes.totp ? [words.totp] : []),
  ...(totp ? [words.formerTotp] : []),
  ...(removes.recoveryCodes ? [words.recoveryCodes] : []),
  ...removes.passkeys.map((name) => fill(words.passkey, { name })),
  ...removes.providers.map((name) => fill(words.provider, { name })),
  ...removes.tokens.map((name) => fill(words.token, { name })),
  words.rest,
]

/** The owner knows the account by the name that it had before a thief changed it. */
const nameOf = ({ username, changesBack: { username: former } }: UndoState, words: Words['undo']) =>
  former === null ? username : fill(words.renamed, { former, username })

const removesAny = ({ changesBack, removes }: UndoState) =>
  changesBack.totp ||
  removes.totp ||
  removes.recoveryCodes ||
  removes.passkeys.length > 0 ||
  removes.providers.length > 0

/** Parts of the account that stay. A thief may have added them before the time that the link takes back. */
const remainingParts = ({ keeps }: UndoState, words: Words['undo']['keeps']) => [
  ...(keeps.totp ? [words.totp] : []),
  ...keeps.passkeys.map((name) => fill(words.passkey, { name })),
  ...keeps.providers.map((name) => fill(words.provider, { name })),
  ...(keeps.name === null ? [] : [fill(words.name, { name: keeps.name })]),
  words.mailbox,
]

const Done = ({ state }: { state: UndoState | undefined }) => {
  const words = useWords('undo')
  const text = state?.disabled ? words.doneDisabled : words.done
  const remaining = state ? remainingParts(state, words.keeps) : []
  return (
    <MessageCard heading={words.doneHeading} kind="success" text={text} focused hasHelpLink={state?.disabled === true}>
      <p class="lead">{words.keeps.lead}</p>
      <ul class="points">
        {remaining.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
      {state?.disabled === false && (
        <a class="button primary" href="/login">
          {words.keeps.signIn}
        </a>
      )}
    </MessageCard>
  )
}

const ByLink = ({ token }: { token: string }) => {
  const words = useWords('undo')
  const { newPassword } = useWords('password')
  const { language } = useSettings()
  const problemsOf = useNewPasswordProblems('password')
  const { found, refusal, ending, endWith, reload } = useMailedLink(() => client.checkUndo({ token }))

  const submit = async ({ password = '' }: Values): Promise<Problems | undefined> => {
    const answer = await (isUndoOfEmail(token) ? client.undoEmail : client.undoFactor)({ token, password })
    if (answer.refused && !isDeadLink(answer.refused)) return problemsOf(answer)
    endWith(answer.refused ? 'dead' : 'done')
    return undefined
  }

  if (ending === 'dead')
    return (
      <MessageCard
        heading={words.deadHeading}
        kind="error"
        text={words.deadLink}
        focused={found !== undefined}
        hasHelpLink
      >
        <a class="button primary" href="/forgot-password">
          {words.newPassword}
        </a>
      </MessageCard>
    )
  if (ending === 'done') {
    return <Done state={found} />
  }
  if (refusal) return <PageNotLoaded refusal={refusal} onTryAgain={reload} />
  if (!found) return <LoadingCard />
  const effects = effectsOf(found, words.effects, language)
  return (
    <Card>
      <Heading text={words.title} />
      <p class="lead">{fill(words.lead, { username: nameOf(found, words) })}</p>
      <ul class="points">
        {effects.map((sentence, at) => (
          <li key={at}>{sentence}</li>
        ))}
      </ul>
      {removesAny(found) && <p class="card-note">{words.alsoYours}</p>}
      <Form submitLabel={words.submit} onSubmit={submit}>
        <HiddenUsername username={found.changesBack.username ?? found.username} />
        <NewPasswordField name="password" label={newPassword} />
        <p class="card-note">{words.wasMe}</p>
      </Form>
    </Card>
  )
}

mount(Undo)
