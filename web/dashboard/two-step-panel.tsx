import { useState } from 'preact/hooks'
import type { Factors, RecoveryCodes as RecoveryCodesMade, TotpBegun } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { Button } from '../components/button.js'
import { ContinuesTo } from '../components/continues-to.js'
import { Notice } from '../components/notice.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { AddApp, RecoveryCodes, useAppProblems } from '../two-step/steps.js'
import { fullDate } from '../words/dates.js'
import { counted, fill } from '../words/format.js'
import { AskFirst } from './ask-first.js'
import { useDashboardActions, useFormRefusal } from './dashboard-actions.js'
import { AccountPanel } from './section.js'
import { returnToApplication, waitingApplication } from './waiting-application.js'

type Props = { factors: Factors; username: string }
type Codes = { codes: string[]; isRenewed?: boolean }

/** Two-step sign-in: on with an app, off, new recovery codes, and how many are left. */
export const TwoStepPanel = ({ factors, username }: Props) => {
  const words = useWords('two-step')
  const actions = useDashboardActions()
  const state = useTwoStepState(factors)
  const [totp, setTotp] = useState<TotpBegun>()
  const [codes, setCodes] = useState<Codes>()

  const changed = async (made?: Codes) => {
    setTotp(undefined)
    setCodes(made)
    await actions.reload()
  }

  const begin = async () => {
    const answer = await actions.withFreshSignIn(client.beginTotp)
    if (answer.refused) actions.showRefusal(answer)
    else setTotp(answer.value)
  }

  if (codes) {
    return (
      <AccountPanel place="two-step" title={words.savedHeading} step="codes">
        <ContinuesTo returnTo={waitingApplication()?.returnTo} />
        <RecoveryCodes {...codes} username={username} onDone={() => returnToApplication() || setCodes(undefined)} />
      </AccountPanel>
    )
  }
  if (totp) {
    return (
      <AccountPanel place="two-step" title={words.title} step="app">
        <ContinuesTo returnTo={waitingApplication()?.returnTo} />
        <AddingApp
          totp={totp}
          onAdded={({ recoveryCodes }) => changed({ codes: recoveryCodes })}
          onCancel={() => setTotp(undefined)}
        />
      </AccountPanel>
    )
  }
  return (
    <AccountPanel
      place="two-step"
      title={words.title}
      state={state}
      lead={factors.totp ? undefined : words.offLead}
      step={factors.totp ? 'on' : 'off'}
    >
      <WaitingApplication factors={factors} />
      {factors.totp ? (
        <SwitchedOn factors={factors} onChanged={changed} />
      ) : (
        <Button onPress={begin}>{words.switchOn}</Button>
      )}
    </AccountPanel>
  )
}

const useTwoStepState = ({ totp, recoveryCodes }: Factors) => {
  const words = useWords('two-step')
  const { locale } = useSettings()
  if (!totp) return { text: words.isOff, look: 'off' as const }
  const facts = [
    fill(words.onSince, { date: fullDate(totp.createdAt, locale) }),
    counted(words.codesLeft, recoveryCodes.left, locale),
  ]
  return { text: facts.join(' · '), look: 'on' as const }
}

/** Why an application has sent the user here, and the way back to it. */
const WaitingApplication = ({ factors }: Pick<Props, 'factors'>) => {
  const words = useWords('two-step')
  const waiting = waitingApplication()
  if (!waiting) return null
  const application = waiting.name
  const hasFactor = factors.totp !== null || factors.passkeys.length > 0
  const back = (
    <a class="button" href={waiting.returnTo}>
      {fill(words.backToApplication, { application })}
    </a>
  )
  return (
    <Notice kind={hasFactor ? 'success' : 'info'} after={back}>
      {fill(hasFactor ? words.addedForApplication : words.neededByApplication, { application })}
    </Notice>
  )
}

type AddingProps = { totp: TotpBegun; onAdded: (added: RecoveryCodesMade) => Promise<void>; onCancel: () => void }

const AddingApp = ({ totp, onAdded, onCancel }: AddingProps) => {
  const { cancel } = useWords('dashboard')
  const { withFreshSignIn } = useDashboardActions()
  const problemsOf = useFormRefusal(useAppProblems())
  return (
    <>
      <AddApp
        totp={totp}
        confirm={(proof) => withFreshSignIn(() => client.confirmTotp(proof))}
        onAdded={onAdded}
        problemsOf={problemsOf}
      />
      <Button look="quiet" onPress={onCancel}>
        {cancel}
      </Button>
    </>
  )
}

type OnProps = Pick<Props, 'factors'> & { onChanged: (made?: Codes) => Promise<void> }

const SwitchedOn = ({ factors, onChanged }: OnProps) => {
  const words = useWords('two-step')
  const { secondFactor } = useSettings()
  const isNeeded = secondFactor === 'required' && factors.passkeys.length === 0
  return (
    <>
      <NewCodes onChanged={onChanged} />
      {isNeeded ? <p class="panel-lead">{words.needed}</p> : <SwitchOff onChanged={onChanged} />}
    </>
  )
}

/** Asks for a second press, because the codes that the user has saved end. */
const NewCodes = ({ onChanged }: Pick<OnProps, 'onChanged'>) => {
  const words = useWords('two-step')
  const actions = useDashboardActions()
  const renew = async () => {
    const answer = await actions.withFreshSignIn(client.renewRecoveryCodes)
    if (answer.refused) actions.showRefusal(answer)
    else await onChanged({ codes: answer.value.recoveryCodes, isRenewed: true })
  }
  return <AskFirst label={words.newCodes} question={words.newCodesAsk} sure={words.newCodesSure} onSure={renew} />
}

/** Asks for a second press, because the account is less safe afterwards. */
const SwitchOff = ({ onChanged }: Pick<OnProps, 'onChanged'>) => {
  const words = useWords('two-step')
  const actions = useDashboardActions()
  const remove = async () => {
    const answer = await actions.withFreshSignIn(client.removeTotp)
    if (answer.refused) return actions.showRefusal(answer)
    actions.showSuccess(words.switchedOff)
    await onChanged()
  }
  return (
    <AskFirst
      label={words.switchOff}
      look="quiet"
      question={words.switchOffAsk}
      sure={words.switchOffSure}
      onSure={remove}
    />
  )
}
