import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Answer, Refusal } from '#client/client.js'
import type { TotpBegun } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { saveFile } from '../browser/storage.js'
import { Button, CopyButton, staysBusy } from '../components/button.js'
import { Card } from '../components/card.js'
import { CodeField } from '../components/code-field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { Heading } from '../components/heading.js'
import { KeyIcon } from '../components/icons.js'
import { Announced, Notice, useMessage } from '../components/notice.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fullDate } from '../words/dates.js'
import { fill } from '../words/format.js'
import { useProblems, useRefusalSentence } from '../words/refusals.js'
import { makePasskey, passkeySupport } from './passkeys.js'
import type { WithFreshSignIn } from './step-up.js'

type Props = {
  username: string
  lead: string
  withFreshSignIn: WithFreshSignIn
  onAdded: () => Promise<void>
  footer: ComponentChildren
}

/** A signed-in user adds the first second factor, an app or a passkey, on a page that is about nothing else. */
export const AddFactor = ({ username, lead, withFreshSignIn, onAdded, footer }: Props) => {
  const words = useWords('enrolment')
  const { savedHeading, codesNotShown } = useWords('two-step')
  const appLead = useAppLead()
  const sentenceOf = useRefusalSentence()
  const problemsOf = useAppProblems()
  const { message: problem, setMessage: setProblem } = useMessage<string>()
  const [totp, setTotp] = useState<TotpBegun>()
  const [codes, setCodes] = useState<string[]>()

  const showRefusal = (refusal: Refusal) => setProblem(sentenceOf(refusal))
  const begin = async () => {
    const answer = await withFreshSignIn(client.beginTotp)
    if (answer.refused) return showRefusal(answer)
    setProblem(undefined)
    return setTotp(answer.value)
  }
  if (codes)
    return (
      <Card>
        <Heading key="codes" text={savedHeading} focused />
        <RecoveryCodes codes={codes} username={username} onDone={() => void onAdded()} />
      </Card>
    )
  if (totp)
    return (
      <Card footer={footer}>
        <Heading key="app" text={words.appHeading} lead={appLead} focused />
        <AddApp
          totp={totp}
          confirm={client.confirmTotp}
          onAdded={(added) => setCodes(added.recoveryCodes)}
          onAlreadyOn={() => setProblem(codesNotShown)}
          problemsOf={problemsOf}
        />
        {problem !== undefined && <Notice kind="error">{problem}</Notice>}
        <Button look="quiet" onPress={() => setTotp(undefined)}>
          {words.otherWay}
        </Button>
      </Card>
    )
  return (
    <Card footer={footer}>
      <Heading key="choice" text={words.chooseHeading} focused />
      <p class="lead">{lead}</p>
      {problem !== undefined && <Notice kind="error">{problem}</Notice>}
      <Button look="primary" onPress={begin}>
        {words.useApp}
      </Button>
      {passkeySupport() === 'yes' && (
        <AddPasskey withFreshSignIn={withFreshSignIn} onAdded={onAdded} setProblem={setProblem} />
      )}
    </Card>
  )
}

type PasskeyProps = Pick<Props, 'withFreshSignIn' | 'onAdded'> & { setProblem: (text: string | undefined) => void }

const AddPasskey = ({ withFreshSignIn, onAdded, setProblem }: PasskeyProps) => {
  const words = useWords('passkeys')
  const sentenceOf = useRefusalSentence()
  const add = async () => {
    setProblem(undefined)
    const options = await withFreshSignIn(client.passkeyOptions)
    if (options.refused) return setProblem(sentenceOf(options))
    const credential = await makePasskey(options.value)
    if (typeof credential === 'string')
      return setProblem(credential === 'address' ? words.wrongAddress : words.noneAdded)
    const added = await client.addPasskey({ credential })
    if (added.refused) return setProblem(sentenceOf(added))
    await onAdded()
    return staysBusy
  }
  return (
    <div class="other-way">
      <Button onPress={add}>
        <KeyIcon /> {words.add}
      </Button>
    </div>
  )
}

type AddProps<Added> = {
  totp: TotpBegun
  confirm: (proof: { code: string }) => Promise<Answer<Added>>
  onAdded: (added: Added) => void | Promise<void>
  /** An earlier try has added the app, but its answer was lost on the way. */
  onAlreadyOn?: () => void | Promise<void>
  /** The problems that the form shows for a refusal. */
  problemsOf: (refusal: Refusal) => Problems | undefined
}

export const useAppProblems = () => useProblems({ wrong_second_factor: 'code' })

/** What to do first. It belongs to the heading that takes the focus when `AddApp` is shown. */
export const useAppLead = () => {
  const { openFirst, scan, apps } = useWords('two-step')
  return `${isPhone() ? openFirst : scan} ${apps}`
}

/** The user scans, opens or copies the secret, and then proves with a code that the app has it. */
export const AddApp = <Added,>({ totp, confirm, onAdded, onAlreadyOn, problemsOf }: AddProps<Added>) => {
  const words = useWords('two-step')

  const submit = async ({ code = '' }: Values): Promise<Problems | undefined> => {
    const answer = await confirm({ code })
    // The page may have been loaded again since the app got its key, and the app may have an older entry too.
    if (answer.refused === 'wrong_second_factor') return { fields: { code: [words.otherEntry] } }
    if (answer.refused === 'totp_is_on' && onAlreadyOn) {
      await onAlreadyOn()
      return undefined
    }
    if (answer.refused) return problemsOf(answer)
    await onAdded(answer.value)
    return undefined
  }

  return (
    <>
      {isPhone() ? <OnPhone totp={totp} /> : <OnOtherDevice totp={totp} />}
      <Form submitLabel={words.confirm} onSubmit={submit}>
        <CodeField label={words.code} from="app" inputMode="numeric" maxLength={12} />
      </Form>
    </>
  )
}

/** On a phone, a link opens the app, because the camera cannot scan its own screen. */
const isPhone = () => matchMedia('(pointer: coarse) and (max-width: 48rem)').matches

type SecretProps = { totp: TotpBegun }

const OnPhone = ({ totp }: SecretProps) => {
  const words = useWords('two-step')
  return (
    <>
      <p class="panel-lead">
        <a class="button" href={totp.uri}>
          {words.openApp}
        </a>
      </p>
      <Key totp={totp} />
      <details class="panel-lead">
        <summary>{words.otherDevice}</summary>
        <p>{words.scanThere}</p>
        <Picture totp={totp} />
      </details>
    </>
  )
}

const OnOtherDevice = ({ totp }: SecretProps) => (
  <div class="app-key">
    <Picture totp={totp} />
    <div>
      <Key totp={totp} />
    </div>
  </div>
)

const Picture = ({ totp }: SecretProps) => (
  <img class="qr-code" src={`data:image/svg+xml,${encodeURIComponent(totp.qr)}`} alt={useWords('two-step').qrAlt} />
)

const Key = ({ totp }: SecretProps) => {
  const words = useWords('two-step')
  return (
    <>
      <p class="panel-lead">
        {words.secret} <code class="secret">{totp.secret.replaceAll(/(.{4})(?=.)/g, '$1 ')}</code>
      </p>
      <p class="panel-lead">
        <CopyButton text={totp.secret} label={words.copySecret} copiedLabel={words.copied} />
      </p>
    </>
  )
}

/** Says on paper and in a file what the codes are for. */
const useLabel = (username: string) => {
  const words = useWords('two-step')
  const { productName, locale } = useSettings()
  return {
    heading: fill(words.paperHeading, { product: productName }),
    account: `${location.host}: ${username}, ${fullDate(new Date().toISOString(), locale)}`,
  }
}

/** The codes are shown once, so the browser asks before a reload or a closed tab takes them away. */
const useAskBeforeLeaving = () => {
  const stop = useRef(new AbortController())
  useEffect(() => {
    addEventListener('beforeunload', (event) => event.preventDefault(), { signal: stop.current.signal })
    return () => stop.current.abort()
  }, [])
  return () => stop.current.abort()
}

type CodesProps = { codes: string[]; username: string; isRenewed?: boolean; onDone: () => void }

/** Shows the codes, which happens once. On paper and in a file, the names of the site and the account stand above them. */
export const RecoveryCodes = ({ codes, username, isRenewed = false, onDone }: CodesProps) => {
  const words = useWords('two-step')
  const { heading, account } = useLabel(username)
  const stopAsking = useAskBeforeLeaving()
  const finish = () => {
    stopAsking()
    onDone()
  }
  const download = () => {
    const lines = [heading, account, '', ...codes, '']
    saveFile(lines.join('\r\n'), `${location.hostname}-recovery-codes.txt`, 'text/plain;charset=utf-8')
  }
  return (
    <>
      {/* Only the sentence is announced. The codes are a list, which the user reads one by one. */}
      <Announced class="panel-lead" text={isRenewed ? words.newCodesLead : words.codesLead} />
      <div class="on-paper">
        <p>
          <strong>{heading}</strong>
        </p>
        <p>{account}</p>
      </div>
      <ul class="recovery-codes" aria-label={words.codesList}>
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div class="button-row">
        <Button onPress={download}>{words.download}</Button>
        <CopyButton text={codes.join('\n')} label={words.copy} copiedLabel={words.copied} />
        <Button onPress={() => print()}>{words.print}</Button>
        <Button look="primary" onPress={finish}>
          {words.saved}
        </Button>
      </div>
    </>
  )
}
