import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { Answer, PasskeyCredential, Proof, Refusal } from '#client/client.js'
import type { ProofMethod } from '#contract/second-factors.js'
import { client } from '../browser/client.js'
import { queryValue, returnToAfterStepUp, withReturnTo } from '../browser/navigation.js'
import { Button } from '../components/button.js'
import { CodeField } from '../components/code-field.js'
import { Dialog } from '../components/dialog.js'
import { Field, HiddenUsername } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { Announced, HelpLink, Notice } from '../components/notice.js'
import { ProviderButtons } from '../components/providers.js'
import { SendAgain } from '../components/send-again.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useProblems } from '../words/refusals.js'
import { PasskeyButton, passkeySupport } from './passkeys.js'

/** Makes a call. If it is refused because it needs a fresh sign-in, asks the user for a proof and makes the call again. */
export type WithFreshSignIn = <Value>(call: () => Promise<Answer<Value>>) => Promise<Answer<Value>>

type StepUp = { methods: readonly ProofMethod[]; close: (isProven: boolean) => void }

/**
 * One dialog for all changes of a page that need a fresh sign-in. Several calls at once wait for the same dialog. After
 * "cancel" the refusal is returned.
 */
export const useStepUp = () => {
  const [stepUp, setStepUp] = useState<StepUp>()
  const asking = useRef<Promise<boolean> | undefined>(undefined)

  const ask = (methods: readonly ProofMethod[]) => {
    asking.current ??= new Promise<boolean>((resolve) => {
      const close = (isProven: boolean) => {
        asking.current = undefined
        setStepUp(undefined)
        resolve(isProven)
      }
      setStepUp({ methods, close })
    })
    return asking.current
  }

  const withFreshSignIn: WithFreshSignIn = async (call) => {
    const first = await call()
    if (first.refused !== 'fresh_sign_in_required') return first
    return (await ask(first.methods ?? [])) ? call() : first
  }

  return { stepUp, withFreshSignIn }
}

type DialogProps = StepUp & { username: string; onSignedOut: () => void }

export const StepUpDialog = ({ methods, close: closeStepUp, username, onSignedOut }: DialogProps) => {
  const words = useWords('step-up')
  return (
    <Dialog title={words.heading} lead={<p>{words.leadChange}</p>} onCancel={() => closeStepUp(false)}>
      {(close) => {
        const finish = (isProven: boolean) => {
          close()
          closeStepUp(isProven)
        }
        return (
          <>
            <StepUpForm methods={methods} username={username} onProven={() => finish(true)} onSignedOut={onSignedOut} />
            <Button look="quiet" onPress={() => finish(false)}>
              {words.cancel}
            </Button>
          </>
        )
      }}
    </Dialog>
  )
}

type Props = {
  /** The methods that the account can prove with, the best first. */
  methods: readonly ProofMethod[]
  username: string
  onProven: () => void
  /** Called if the session has ended in the meantime. */
  onSignedOut: () => void
  /** If a passkey is the only method, this is shown below its button, instead of the link to a new sign-in, which would not help. */
  insteadOfSignIn?: ComponentChildren
}

type WayProps = { username: string; prove: (proof: Proof) => Promise<Problems | undefined> }

/** Asks for a passkey if the account has one and the browser can use it, and for the next best proof of the account. */
export const StepUpForm = ({ methods, username, onProven, onSignedOut, insteadOfSignIn }: Props) => {
  const words = useWords('passkeys')
  const problemsOf = useProblems({
    wrong_current_password: 'password',
    wrong_mailed_code: 'code',
    wrong_second_factor: 'code',
  })
  const problemsUnlessSignedOut = (refusal: Refusal) => {
    if (refusal.refused !== 'not_authenticated') return problemsOf(refusal)
    onSignedOut()
    return undefined
  }
  const prove = async (proof: Proof) => {
    const answer = await client.stepUp(proof)
    if (answer.refused) return problemsUnlessSignedOut(answer)
    onProven()
    return undefined
  }
  const proveByPasskey = async (credential: PasskeyCredential) => {
    const answer = await client.stepUp({ credential })
    if (answer.refused && answer.refused !== 'not_authenticated') return answer
    if (answer.refused) onSignedOut()
    else onProven()
    return undefined
  }
  const otherMethods = methods.filter((method) => method !== 'passkey')
  const [method] = otherMethods
  const Way = method && ways[method]
  const hasPasskey = methods.includes('passkey')
  if (methods.length === 0) return <ByProvider />
  const offersPasskey = hasPasskey && (Way || passkeySupport() === 'yes')
  return (
    <>
      {hasPasskey && !offersPasskey && <Notice kind="error">{words.otherBrowser}</Notice>}
      {offersPasskey && (
        <div class="other-way">
          <PasskeyButton
            look={Way ? 'plain' : 'primary'}
            loadOptions={client.stepUpPasskeyOptions}
            prove={proveByPasskey}
          />
        </div>
      )}
      {Way && <Way username={username} prove={prove} />}
      {!Way && (insteadOfSignIn ?? <SignInAgain />)}
    </>
  )
}

/** For a lost passkey: a new sign-in is a proof too, and can be by the password. It does not help if two factors are asked for. */
const SignInAgain = () => {
  const words = useWords('step-up')
  if (queryValue('factors') === '2') return null
  return (
    <a class="button quiet" href={withReturnTo('/login?notice=sign_in', returnToAfterStepUp())}>
      {words.signInAgain}
    </a>
  )
}

/** The account has no proof of its own, and no code can be mailed to it. A new sign-in with its provider is a proof. */
const ByProvider = () => {
  const words = useWords('step-up')
  const { providers } = useSettings()
  return (
    <>
      <Notice kind="info" after={<HelpLink />}>
        {providers.length > 0 ? words.atProvider : words.askAdministrator}
      </Notice>
      <ProviderButtons returnTo={returnToAfterStepUp()} asksAgain isOnlyWay />
    </>
  )
}

const ByPassword = ({ username, prove }: WayProps) => {
  const words = useWords('step-up')
  const common = useWords('common')
  return (
    <Form submitLabel={words.confirm} onSubmit={({ password = '' }: Values) => prove({ password })}>
      <HiddenUsername username={username} />
      <Field name="password" label={common.password} type="password" autoComplete="current-password" focused />
      <p class="forgot-link">
        <a href={withReturnTo('/forgot-password', returnToAfterStepUp())}>{common.forgotPassword}</a>
      </p>
    </Form>
  )
}

const ByMail = ({ prove }: WayProps) => (
  <MailedCode send={client.mailStepUpCode} enter={(mailedCode) => prove({ mailedCode })} />
)

/** One field takes a code of the app or a recovery code. The service tells them apart by their form. */
const ByCode = ({ prove }: WayProps) => {
  const words = useWords('step-up')
  return (
    <Form submitLabel={words.confirm} onSubmit={({ code = '' }: Values) => prove({ code })}>
      <CodeField label={words.appCode} from="app" hint={words.appCodeHint} maxLength={64} focused />
    </Form>
  )
}

const ways: Record<Exclude<ProofMethod, 'passkey'>, (props: WayProps) => preact.JSX.Element> = {
  totp: ByCode,
  recovery_code: ByCode,
  password: ByPassword,
  mail: ByMail,
}

type MailedProps = { send: () => Promise<Answer<unknown>>; enter: (code: string) => Promise<Problems | undefined> }

/** Mails a code to the address of the account, and takes it. */
export const MailedCode = ({ send, enter }: MailedProps) => {
  const words = useWords('step-up')
  const problemsOf = useProblems()
  const [isSent, setSent] = useState(false)

  const sendFirst = async () => {
    const answer = await send()
    if (answer.refused) return problemsOf(answer)
    setSent(true)
    return undefined
  }

  if (!isSent) {
    return (
      <>
        <p>{words.mailLead}</p>
        <Form submitLabel={words.sendCode} onSubmit={sendFirst}>
          {null}
        </Form>
      </>
    )
  }
  return (
    <>
      <Announced text={words.mailSent} />
      <Form key="code" submitLabel={words.confirm} onSubmit={({ code = '' }: Values) => enter(code)}>
        <CodeField label={words.code} from="mail" hint={words.codeHint} maxLength={32} focused="chosen" />
      </Form>
      <SendAgain send={send} sentMessage={words.sentAgain} />
    </>
  )
}
