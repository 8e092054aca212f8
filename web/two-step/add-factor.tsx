import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Refusal } from '#client/client.js'
import type { TotpBegun } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { Button, staysBusy } from '../components/button.js'
import { Card } from '../components/card.js'
import { Heading } from '../components/heading.js'
import { KeyIcon } from '../components/icons.js'
import { Notice, useMessage } from '../components/notice.js'
import { useWords } from '../hooks/settings.js'
import { makePasskey, passkeySupport } from '../passkeys/ceremonies.js'
import type { WithFreshSignIn } from '../step-up/use-step-up.js'
import { useRefusalSentence } from '../words/refusals.js'
import { AddApp, RecoveryCodes, useAppProblems } from './steps.js'

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
        <Heading key="app" text={words.appHeading} focused />
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
