import { useEffect } from 'preact/hooks'
import type { Answer } from '#client/client.js'
import type { EmailLink } from '#contract/mailed-links.js'
import { client } from '../browser/client.js'
import { mount } from '../browser/mount.js'
import { withReturnTo } from '../browser/navigation.js'
import { tabStorage } from '../browser/storage.js'
import { Card, LoadingCard, MessageCard, PageNotLoaded } from '../components/card.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { Heading } from '../components/heading.js'
import { Notice } from '../components/notice.js'
import { isDeadLink, useLinkToken, useMailedLink } from '../hooks/mailed-link.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { useProblems } from '../words/refusals.js'

/** This tab stores the token of the link, because a sign-in leads away from this page and back. */
const tokenKey = 'latchkey.confirm-email'

/** `username`: the user who is signed in, who may not be the user of the link. */
type Link = EmailLink & { username: string | undefined }

const ConfirmEmail = () => {
  const words = useWords('confirm-email')
  const token = useLinkToken() ?? tabStorage.read(tokenKey)
  if (token !== undefined) return <ByLink key={token} token={token} />
  return <MessageCard heading={words.heading} kind="info" text={words.noLink} />
}

/** Checks the link first. Nothing changes before the button is pressed: mail scanners open links too. */
const ByLink = ({ token }: { token: string }) => {
  const { found, refusal, ending, endWith, reload } = useMailedLink<Link, 'done' | 'taken'>(
    () => checkLink(token),
    () => tabStorage.write(tokenKey, undefined),
  )
  const problemsOf = useProblems({ wrong_current_password: 'password' })

  const submit = async ({ password }: Values): Promise<Problems | undefined> => {
    const answer = await client.confirmEmail({ token, password })
    if (!answer.refused) endWith('done')
    else if (isDeadLink(answer.refused)) endWith('dead')
    else if (answer.refused === 'email_taken') endWith('taken')
    // The session has ended, or two-step sign-in was switched on, since the link was checked.
    else if (answer.refused === 'password_required' || answer.refused === 'not_authenticated') await reload()
    else return problemsOf(answer)
    return undefined
  }

  if (ending) return <Ended ending={ending} link={found} />
  if (refusal) return <PageNotLoaded refusal={refusal} onTryAgain={reload} />
  if (!found) return <LoadingCard />
  return found.proof === 'sign_in' ? (
    <SignInFirst token={token} link={found} />
  ) : (
    <ConfirmForm link={found} onSubmit={submit} />
  )
}

const checkLink = async (token: string): Promise<Answer<Link>> => {
  // The tokens of a session may have expired. `me` renews them first, so that the user is not asked for a password in vain.
  const caller = await client.me()
  const answer = await client.checkEmailLink({ token })
  if (answer.refused) return answer
  return { value: { ...answer.value, username: caller.refused ? undefined : caller.value.user.username } }
}

type FormProps = { link: Link; onSubmit: (values: Values) => Promise<Problems | undefined> }

const ConfirmForm = ({ link, onSubmit }: FormProps) => {
  const words = useWords('confirm-email')
  const common = useWords('common')
  const { email, username = '' } = link
  const asksPassword = link.proof === 'password'
  return (
    <Card>
      <Heading text={words.heading} />
      <OtherAccount link={link} />
      <p class="lead" aria-live="polite">
        {fill(link.present ? words.leadPresent : asksPassword ? words.passwordLead : words.lead, { email, username })}
      </p>
      <Form key={String(asksPassword)} submitLabel={words.confirm} onSubmit={onSubmit}>
        {asksPassword && (
          <Field name="password" label={common.password} type="password" autoComplete="current-password" focused />
        )}
      </Form>
      {asksPassword && <p class="card-note">{words.codeInstead}</p>}
    </Card>
  )
}

/** A notice if another user than that of the link is signed in. */
const OtherAccount = ({ link: { proof, username } }: { link: Link }) => {
  const words = useWords('confirm-email')
  if (proof === 'session' || username === undefined) return null
  return <Notice kind="info">{fill(words.otherAccount, { username })}</Notice>
}

const SignInFirst = ({ token, link }: { token: string; link: Link }) => {
  const words = useWords('confirm-email')
  useEffect(() => tabStorage.write(tokenKey, token), [token])
  return (
    <Card>
      <Heading text={words.heading} />
      <OtherAccount link={link} />
      <p class="lead">{fill(words.signInFirst, { email: link.email })}</p>
      <a class="button primary" href={withReturnTo('/login?notice=sign_in', '/confirm-email')}>
        {words.signIn}
      </a>
      <p class="card-note">{words.codeInstead}</p>
    </Card>
  )
}

type EndedProps = { ending: 'done' | 'dead' | 'taken'; link: Link | undefined }

const Ended = ({ ending, link }: EndedProps) => {
  const words = useWords('confirm-email')
  const { email_taken: taken } = useWords('refusals')
  const headings = { done: words.doneHeading, dead: words.deadHeading, taken: words.takenHeading }
  const { email = '', username = '', proof } = link ?? {}
  const done = fill(words.done, { email })
  const isOtherUser = proof === 'password' && username !== ''
  const texts = {
    done: isOtherUser ? `${done} ${fill(words.doneOther, { username })}` : done,
    dead: words.deadLink,
    taken,
  }
  return (
    <Card>
      <Heading text={headings[ending]} focused={link !== undefined} />
      <Notice kind={ending === 'done' ? 'success' : 'error'}>{texts[ending]}</Notice>
      <a class="button primary" href="/login">
        {words.continue}
      </a>
    </Card>
  )
}

mount(ConfirmEmail)
